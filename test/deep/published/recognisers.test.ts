import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { addModel, type AddModelOptions } from "#framemill/models/add-model.js";
import { transcription } from "#framemill/modalities/transcription/index.js";
import type { TranscriptionOutput } from "#framemill/modalities/transcription/request.js";
import { deviation } from "../../support/npy.js";
import { openRunner } from "../../support/one-process.js";

/** Tiny exports with what PyTorch hears in their sound (scripts/export/transcription.py). */
const FOLDER = fileURLToPath(new URL("../../fixtures/published", import.meta.url));

interface Golden {
  readonly cases: readonly [{ readonly expected: Expected }];
  /** Absent where the model cannot tell when words are said. */
  readonly words?: readonly {
    readonly word: string;
    readonly start: number;
    readonly end: number;
  }[];
  /** English name; English where absent. */
  readonly language?: string;
  readonly tolerance: number;
}

interface Expected {
  readonly text: string;
  readonly logprobs: readonly number[];
}

const modelsDir = mkdtempSync(join(tmpdir(), "framemill-recognisers-"));
afterAll(() => rmSync(modelsDir, { recursive: true, force: true }));

function read(row: string) {
  const golden = JSON.parse(readFileSync(join(FOLDER, row, "golden.json"), "utf8")) as Golden;
  const bytes = readFileSync(join(FOLDER, row, "sound.wav"));
  return { golden, file: { filename: "sound.wav", mediaType: "audio/wav", bytes } };
}

async function withRow<T>(
  row: string,
  options: Partial<AddModelOptions>,
  use: (runner: Awaited<ReturnType<typeof open>>) => Promise<T>,
): Promise<T> {
  const runner = await open(row, options);
  try {
    return await use(runner);
  } finally {
    await runner.close();
  }
}

async function open(row: string, options: Partial<AddModelOptions>) {
  const id = `${row}-${Object.keys(options).length}`;
  const { path } = await addModel(join(FOLDER, row, "model"), { modelsDir, id, ...options });
  return await openRunner<unknown, TranscriptionOutput>(transcription, path);
}

describe.each([
  "transcribe-wav2vec2",
  "transcribe-hubert",
  "transcribe-parakeet-ctc",
  "transcribe-parakeet-ctc-nemo",
  "transcribe-parakeet-tdt",
  "transcribe-sense-voice",
  "transcribe-moonshine",
])("%s", (row) => {
  const { golden, file } = read(row);
  const { expected } = golden.cases[0];

  test("hears what PyTorch hears, each word where it is said", async () => {
    await withRow(row, {}, async (runner) => {
      const format = { response_format: "verbose_json" };
      const words = { timestamp_granularities: golden.words === undefined ? [] : ["word"] };
      const answer = await runner.answer({ file, ...format, ...words });
      expect(answer["text"]).toBe(expected.text);
      expect(answer["language"]).toBe(golden.language ?? "english");
      expect(answer["words"]).toEqual(golden.words);
      const { transcript } = await runner.run({ file, include: ["logprobs"] });
      const logprobs = transcript.logprobs.map(({ logprob }) => logprob);
      expect(deviation(logprobs, expected.logprobs)).toBeLessThan(golden.tolerance);
    });
  });

  test("hears sound longer than its window in stretches, in order", async () => {
    await withRow(row, { shapes: { windowSeconds: 1.2 } }, async (runner) => {
      const { transcript } = await runner.run({ file, response_format: "srt" });
      const times = transcript.segments.flatMap((it) => [it.startSeconds, it.endSeconds]);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      expect(new Set(transcript.segments.map(({ seek }) => seek)).size).toBeGreaterThan(2);
      expect(times.at(-1)).toBeGreaterThan(2.2);
    });
  });
});
