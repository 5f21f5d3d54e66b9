import { int64, float32, floatsOf } from "../../runtime/tensors/tensor.js";
import type { SessionThread } from "../../runtime/ort/session.js";
import type { Feed } from "../../runtime/ort/graphs.js";

/** Samples of one judgement, 32 ms at 16 kHz, and those before it that newer models want to see. */
export const VOICE_WINDOW = 512;
const CONTEXT = 64;
const SAMPLE_RATE = int64(BigInt64Array.of(16_000n), []);

/** Silero's voice activity detector over one recording, window after window. */
export interface VoiceDetector {
  /** Probability that the next 512 samples at 16 kHz hold speech. */
  judge(samples: Float32Array): Promise<number>;
  close(): void;
}

let lastKey = 0;

/**
 * Reads both published forms: `state` [2, 1, 128] with 64 samples of context, and the older `h` and `c`
 * [2, 1, 64] without. The state stays in the session thread.
 */
export function createVoiceDetector(thread: SessionThread, role: string): VoiceDetector {
  const inputs = thread.info[role]?.inputs ?? [];
  const isOld = inputs.some(({ name }) => name === "h");
  const states: Record<string, string> = isOld ? { h: "hn", c: "cn" } : { state: "stateN" };
  const width = isOld ? 64 : 128;
  const context = isOld ? 0 : CONTEXT;
  const key = `voice-${++lastKey}`;
  const names = Object.keys(states).map((name) => `${key}.${name}`);
  const probability = thread.info[role]?.outputs[0]?.name ?? "output";
  const keep = Object.fromEntries(
    Object.entries(states).map(([input, output]) => [output, `${key}.${input}`]),
  );
  const heard = new Float32Array(context + VOICE_WINDOW);
  let hasState = false;
  const stateOf = (name: string): Feed =>
    hasState ? { kept: `${key}.${name}` } : float32(new Float32Array(2 * width), [2, 1, width]);
  return {
    async judge(samples) {
      heard.copyWithin(0, VOICE_WINDOW);
      heard.fill(0, context);
      heard.set(samples.subarray(0, VOICE_WINDOW), context);
      const feeds = {
        ...Object.fromEntries(Object.keys(states).map((name) => [name, stateOf(name)])),
        input: float32(heard.slice(), [1, heard.length]),
        sr: SAMPLE_RATE,
      };
      const outputs = await thread.run(role, feeds, { keep, fetch: [probability] });
      hasState = true;
      return floatsOf(outputs, probability)[0] ?? 0;
    },
    close() {
      if (hasState) thread.drop(names);
    },
  };
}
