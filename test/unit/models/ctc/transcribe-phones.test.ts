import { expect, test } from "vitest";
import type { FoundWord, Spelled } from "#framemill/models/ctc/search.js";
import type { CtcModel } from "#framemill/models/ctc/model.js";
import type { PcmFile } from "#framemill/media/pcm.js";
import { type PhoneTask, transcribePhones } from "#framemill/models/ctc/transcribe-phones.js";

const STEP = 480;
const BEFORE = 7;

/** A sound whose samples are 1 where somebody speaks; what is no speech is a little above 0. */
function soundOf(...parts: readonly (readonly [steps: number, speaks: boolean])[]): PcmFile {
  const samples = parts.flatMap(([steps, speaks]) =>
    Array.from({ length: steps * STEP }, () => (speaks ? 1 : 0.001)),
  );
  return {
    sampleCount: samples.length,
    async read(from, to) {
      return Float32Array.from({ length: to - from }, (_, at) => samples[from + at] ?? 0);
    },
    async close() {},
  };
}

/** A model that hears one word, of phone 1, in each span of speech, and notes what it read. */
function listener(pcm: PcmFile, windowSeconds: number) {
  const reads: { readonly steps: number; readonly before: number }[] = [];
  const model = {
    settings: { melBins: 1, framesPerStep: 3, windowSeconds, language: "en" },
    words: ["", "", "word"],
    async hear(features: Float32Array) {
      const steps = features.length / 3;
      const logprobs = Float32Array.from({ length: steps * 2 }, (_, at) => {
        const speaks = (features[Math.floor(at / 2) * 3 + 1] ?? 0) > 0.5;
        return Math.log(speaks === (at % 2 === 1) ? 0.99 : 0.01);
      });
      const output = { logprobs, steps, phones: 2 };
      return { spelling: output, states: output };
    },
    read({ steps }: Spelled, before: number): readonly FoundWord[] {
      reads.push({ steps, before });
      return [{ word: 2, phones: [1], first: 0, end: 1, logprob: -0.5 }];
    },
    stateAfter: (words: readonly string[]) => (words.length === 0 ? 0 : BEFORE),
  } as unknown as CtcModel;
  const task: PhoneTask = {
    model,
    // The middle sample of each frame.
    logMel: (samples) =>
      Float32Array.from(
        { length: (samples.length - 400) / 160 + 1 },
        (_, at) => samples[at * 160 + 200] ?? 0,
      ),
    pcm,
    prompt: "",
    detection: {},
    withWords: true,
    signal: new AbortController().signal,
  };
  return { task, reads };
}

async function transcribe(task: PhoneTask) {
  const windows = [];
  for await (const window of transcribePhones(task)) windows.push(window);
  return windows;
}

test("transcribes each span between pauses and times its words", async () => {
  const pcm = soundOf([20, false], [30, true], [40, false], [25, true], [30, false]);
  const { task, reads } = listener(pcm, 20);
  const [window, ...others] = await transcribe(task);
  expect(others).toEqual([]);
  expect(window?.segments.map(({ text }) => text)).toEqual([" word", " word"]);
  expect(window?.words).toEqual([
    { word: "word", startSeconds: 0.6, endSeconds: 1.5 },
    { word: "word", startSeconds: 2.7, endSeconds: 3.45 },
  ]);
  // 0.15 s are kept on both sides.
  expect(reads.map(({ steps }) => steps)).toEqual([40, 35]);
  expect(window?.settledSample).toBe(pcm.sampleCount);
});

test("leaves what the window's end cuts off to the next window", async () => {
  const { task } = listener(soundOf([10, false], [30, true], [30, false], [60, true]), 3);
  const windows = await transcribe(task);
  expect(windows.map(({ words }) => words.length)).toEqual([1, 1]);
  expect(windows[0]?.settledSample).toBe(65 * STEP);
  expect(windows[1]?.words[0]).toMatchObject({ startSeconds: 2.1, endSeconds: 3.9 });
});

test("cuts speech without a pause where it must, and ends", async () => {
  const windows = await transcribe(listener(soundOf([400, true]), 3).task);
  expect(windows.length).toBeGreaterThan(3);
  expect(windows.at(-1)?.settledSample).toBe(400 * STEP);
  expect(windows.every(({ words }) => words.length > 0)).toBe(true);
});

test("hears nothing in silence", async () => {
  const quiet = await transcribe(listener(soundOf([200, false]), 20).task);
  expect(quiet).toEqual([
    { language: null, segments: [], words: [], logprobs: [], settledSample: 200 * STEP },
  ]);
  const { task } = listener({ ...soundOf([0, true]), sampleCount: 48_000 }, 20);
  expect((await transcribe(task))[0]).toMatchObject({ segments: [], settledSample: 48_000 });
});

test("takes the prompt as what was said before the first words", async () => {
  const { task, reads } = listener(soundOf([30, true], [40, false], [30, true]), 20);
  await transcribe({ ...task, prompt: "Dear Sir," });
  expect(reads.map(({ before }) => before)).toEqual([BEFORE, 0]);
});
