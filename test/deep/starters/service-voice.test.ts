import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { createSpeechPipeline } from "#framemill/modalities/speech/pipeline.js";
import { contextOf, request, say, setupOf } from "../../support/speech-harness.js";

const model = fileURLToPath(new URL("../../../models/service-voice-1", import.meta.url));
/** PCM leaves the service at 24 kHz, 16 bit. */
const BYTES_A_SECOND = 48_000;
const input = "The gate was open. Nobody came out of the house.";

describe("service-voice-1", () => {
  test("speaks at a human pace without espeak-ng, the same sound each time", async () => {
    const setup = { ...setupOf(model), espeakPath: "/nonexistent" };
    const [once, again] = [
      await say(model, { input, voice: "clb" }, setup),
      await say(model, { input, voice: "clb" }, setup),
    ];
    expect(once.output.audioSeconds).toBeGreaterThan(1.5);
    expect(once.output.audioSeconds).toBeLessThan(6);
    expect(again.bytes.equals(once.bytes)).toBe(true);
  });

  test("has voices that differ, and speaks faster when asked to", async () => {
    const voices = ["clb", "rms", "bdl"];
    const said = await Promise.all(voices.map((voice) => say(model, { input, voice })));
    expect(new Set(said.map(({ bytes }) => bytes.toString("latin1"))).size).toBe(3);
    const fast = await say(model, { input, voice: "clb", speed: 1.6 });
    const seconds = said[0]?.output.audioSeconds ?? 0;
    expect(fast.output.audioSeconds).toBeLessThan(seconds * 0.8);
  });

  test("takes longer for a number than for its first digit: it reads the whole number", async () => {
    const long = await say(model, { input: "They counted 777,777 of them.", voice: "rms" });
    const short = await say(model, { input: "They counted 7 of them.", voice: "rms" });
    expect(long.output.audioSeconds).toBeGreaterThan(short.output.audioSeconds + 1.5);
  });

  test("gives the first sentence before the last one is made", async () => {
    const pipeline = await createSpeechPipeline(setupOf(model));
    const long = Array.from({ length: 12 }, () => input).join(" ");
    const arrivals: { readonly atMs: number; readonly bytes: number }[] = [];
    const task = { ...request, input: long, voice: "bdl" };
    const startedAt = performance.now();
    try {
      for await (const event of pipeline.run(task, contextOf())) {
        if (event.type !== "chunk" || event.chunk.type !== "bytes") continue;
        const bytes = event.chunk.bytes.byteLength;
        arrivals.push({ atMs: performance.now() - startedAt, bytes });
      }
    } finally {
      await pipeline.close();
    }
    const total = arrivals.reduce((sum, { bytes }) => sum + bytes, 0) / BYTES_A_SECOND;
    expect(total).toBeGreaterThan(20);
    expect(arrivals[0]?.atMs).toBeLessThan((arrivals.at(-1)?.atMs ?? 0) / 2);
  });
});
