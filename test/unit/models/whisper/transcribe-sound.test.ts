import type { TranscribedWindow } from "#framemill/models/speech-recognition/transcription-model.js";
import { describe, expect, test } from "vitest";
import type { WhisperDecoder } from "#framemill/models/whisper/decoder.js";
import type { WhisperModel } from "#framemill/models/whisper/model.js";
import { SPEECH_RATE_HZ } from "#framemill/media/mel.js";
import { type SoundTask, transcribeSound } from "#framemill/models/whisper/transcribe-sound.js";

/** Words are 0 to 99; time `t` seconds is the token `at(t)`. */
const TOKENS = {
  endOfText: 100,
  startOfTranscript: 101,
  startOfPrevious: 102,
  noSpeech: 103,
  noTimestamps: 104,
  firstTimestamp: 105,
  transcribe: 102,
  languages: new Map<string, number>(),
};
const VOCABULARY = 105 + 1_501;
const at = (seconds: number) => 105 + Math.round(seconds * 50);

const decode = (ids: readonly number[]) => ids.map((id) => ` w${id}`).join("");
const model = {
  settings: {
    tokens: TOKENS,
    maxTokens: 448,
    suppressed: [101, 102, 103, 104],
    suppressedFirst: [],
    maxInitialTimestamp: 1_500,
  },
  tokenizer: { bytes: { decode, bytesOf: () => [] }, encode: () => ({ ids: [7, 101, 8] }) },
} as unknown as WhisperModel;

/** A decoder that says the next script at each start and each rewind, and notes its prompts. */
function scripted(...scripts: readonly (readonly number[])[]) {
  const prompts: number[][] = [];
  let attempt = -1;
  let said = 0;
  const next = (): Float32Array => {
    const token = scripts[Math.min(attempt, scripts.length - 1)]?.[said] ?? TOKENS.endOfText;
    said += 1;
    return new Float32Array(VOCABULARY).fill(-99).fill(0, token, token + 1);
  };
  const begin = () => {
    attempt += 1;
    said = 0;
  };
  const decoder: WhisperDecoder = {
    hear: async () => {},
    async start(prompt) {
      prompts.push([...prompt]);
      begin();
      const last = next();
      return { atMark: last, last };
    },
    // The prompt's logits are kept by the caller: every attempt begins with the same token.
    rewind() {
      begin();
      said = 1;
    },
    step: async () => next(),
    attend: async () => [],
    close: () => {},
  };
  return { decoder, prompts };
}

async function hear(
  decoder: WhisperDecoder,
  seconds: number,
  task: Partial<SoundTask> = {},
): Promise<TranscribedWindow[]> {
  const sampleCount = seconds * SPEECH_RATE_HZ;
  const windows: TranscribedWindow[] = [];
  const sound = transcribeSound({
    model,
    decoder,
    logMel: () => new Float32Array(1),
    pcm: {
      sampleCount,
      read: async (from, to) => new Float32Array(to - from).fill(0.1),
      close: async () => {},
    },
    regions: [{ start: 0, end: sampleCount }],
    language: null,
    prompt: "",
    temperatures: [0],
    withTimestamps: true,
    withWords: false,
    random: () => 0,
    signal: new AbortController().signal,
    ...task,
  });
  for await (const window of sound) windows.push(window);
  return windows;
}

const spans = (windows: readonly TranscribedWindow[]) =>
  windows.flatMap(({ segments }) =>
    segments.map((it) => [it.startSeconds, it.endSeconds, it.text] as const),
  );

describe("listening to a long sound", () => {
  test("goes on where the last complete piece ended, knowing what was said", async () => {
    const first = [at(0), 1, at(2), at(2), 2, at(5), at(5), 3];
    const { decoder, prompts } = scripted(first, [at(0), 4, at(1)]);
    const windows = await hear(decoder, 33, { prompt: "names" });
    expect(spans(windows)).toEqual([
      [0, 2, " w1"],
      [2, 5, " w2"],
      [5, 6, " w4"],
    ]);
    expect(windows.map(({ settledSample }) => settledSample / SPEECH_RATE_HZ)).toEqual([5, 33]);
    expect(windows[1]?.segments[0]?.seek).toBe(500);
    const { startOfPrevious, startOfTranscript } = TOKENS;
    expect(prompts).toEqual([
      [startOfPrevious, 7, 8, startOfTranscript],
      [startOfPrevious, 7, 8, ...first.slice(0, 3), ...first.slice(3, 6), startOfTranscript],
    ]);
  });

  test("ends, however little each window settles", async () => {
    const { decoder, prompts } = scripted([at(0), 1, at(0.02), at(0.02), 2]);
    await hear(decoder, 20);
    expect(prompts.length).toBe(20);
  });

  test("starts each region afresh, with its own times", async () => {
    const { decoder, prompts } = scripted([at(0.5), 1, at(1)]);
    const second = (start: number) => ({ start, end: start + 2 * SPEECH_RATE_HZ });
    const regions = [second(0), second(100 * SPEECH_RATE_HZ)];
    expect(spans(await hear(decoder, 200, { regions }))).toEqual([
      [0.5, 1, " w1"],
      [100.5, 101, " w1"],
    ]);
    expect(prompts).toEqual([[TOKENS.startOfTranscript], [TOKENS.startOfTranscript]]);
  });

  test("tries again, warmer, where the text repeats itself, and takes it for no example", async () => {
    const loop = [at(0), ...Array.from({ length: 60 }, () => 9), at(2)];
    const better = [at(0), 1, 2, at(2), at(2), 3];
    const { decoder, prompts } = scripted(loop, loop, loop, better, [at(0), 4, at(1)]);
    const windows = await hear(decoder, 31, {
      temperatures: [0, 0.2, 0.4, 0.6],
      random: () => 0.5,
    });
    expect(windows[0]?.segments).toMatchObject([{ text: " w1 w2", temperature: 0.6 }]);
    expect(windows[0]?.segments[0]?.compressionRatio).toBeLessThan(2.4);
    expect(prompts[1]).toEqual([TOKENS.startOfTranscript]);
  });

  test("hears nothing in digital silence, without asking the model", async () => {
    const { decoder, prompts } = scripted([at(0), 1, at(1)]);
    const silence = { sampleCount: 40 * SPEECH_RATE_HZ, close: async () => {} };
    const read = async (from: number, to: number) => new Float32Array(to - from);
    const windows = await hear(decoder, 40, { pcm: { ...silence, read } });
    expect(windows.length).toBe(2);
    expect(spans(windows)).toEqual([]);
    expect(prompts).toEqual([]);
  });
});
