import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { JobError } from "#framemill/core/errors.js";
import { openGraphs } from "#framemill/runtime/ort/graphs.js";
import {
  createVoiceDetector,
  voiceRegions,
} from "#framemill/models/speech-recognition/voice-detection.js";
import { melody, tone, wavOf } from "../../support/melody.js";
import { createRandom } from "../../support/onnx.js";
import { writeOldVoiceDetector, writeVoiceDetector } from "../../support/tiny-voice-detector.js";
import { addTinyWhisper } from "../../support/tiny-whisper.js";
import type { TinyWhisper } from "../../support/tiny-whisper-graphs.js";
import {
  collect,
  openSound,
  openTranscriber,
  outputOf,
  ownFolder,
  type Transcriber,
} from "../../support/transcriber.js";
import { timeId, wordId } from "../../support/whisper-vocabulary.js";

const { signal } = new AbortController();

describe.each([
  ["with a state", writeVoiceDetector, 64, 1],
  ["of the older form, with two", writeOldVoiceDetector, 0, 2],
])("a voice detector %s", (_, write, context, blends) => {
  async function openDetector() {
    const path = join(ownFolder(), "silero_vad.onnx");
    write(path);
    return openGraphs({ graphs: { vad: path }, threads: 1, providers: ["cpu"] });
  }

  test("carries its state from window to window", async () => {
    const thread = await openDetector();
    const detector = createVoiceDetector(thread, "vad");
    const random = createRandom();
    const samples = Float32Array.from({ length: 5 * 512 }, random);
    const states = [0, 0];
    for (let from = 0; from < samples.length; from += 512) {
      const window = samples.subarray(Math.max(0, from - context), from + 512);
      const squares = window.reduce((sum, sample) => sum + sample ** 2, 0);
      let loudness = (8 * squares) / (512 + context);
      for (const [at, state] of states.entries()) loudness = states[at] = (state + loudness) / 2;
      const expected = states[blends - 1] ?? 0;
      // float32 of values up to 3: 2e-7 was measured.
      expect(await detector.judge(samples.subarray(from, from + 512))).toBeCloseTo(expected, 5);
    }
    detector.close();
    await thread.close();
  });

  test("finds a sound between silences", async () => {
    const sound = new Float32Array(14 * 16_000);
    sound.set(tone(440, 2), 5 * 16_000);
    const pcm = await openSound(wavOf(sound));
    const thread = await openDetector();
    const found = await collect(
      voiceRegions(pcm, { thread, detection: {}, longestSamples: 480_000, signal }),
    );
    await thread.close();
    await pcm.close();
    expect(found).toHaveLength(1);
    // 0.3 s are kept on both sides; it is noticed within two windows of 32 ms.
    expect((found[0]?.start ?? 0) / 16_000).toBeCloseTo(4.73, 1);
    expect((found[0]?.end ?? 0) / 16_000).toBeCloseTo(7.35, 1);
  });
});

describe("the transcription pipeline", () => {
  const opened: Transcriber[] = [];
  afterAll(() => Promise.all(opened.map((transcriber) => transcriber.close())));

  async function open(tiny: Partial<TinyWhisper> = {}, extra: readonly string[] = []) {
    const model = await addTinyWhisper({ decoder: "merged", ...tiny }, { extra });
    const transcriber = await openTranscriber(model.path);
    opened.push(transcriber);
    return transcriber;
  }
  let merged: Transcriber;
  beforeAll(async () => void (merged = await open()));

  test("transcribes both windows of a long sound, and streams the text", async () => {
    const sound = wavOf(melody(`${"0127347".padEnd(60)}5617`));
    const { run } = merged;
    const request = { prompt: "Mr Quilter.", stream: true, logprobs: true } as const;
    const output = await outputOf(run(sound, { ...request, format: "verbose_json" }));
    expect(output.durationSeconds).toBe(32);
    expect(output.transcript.text).toBe("do re mi. fa so. la ti re.");
    const said = (from: number, notes: readonly number[], to: number) =>
      [timeId(from), notes.map(wordId), timeId(to)].flat();
    expect(output.transcript.segments).toMatchObject([
      { seek: 0, startSeconds: 0, endSeconds: 2, tokens: said(0, [0, 1, 2, 7], 2) },
      { seek: 0, startSeconds: 2, endSeconds: 3.5, tokens: said(2, [3, 4, 7], 3.5) },
      { seek: 3_000, startSeconds: 30, endSeconds: 32, tokens: said(0, [5, 6, 1, 7], 2) },
    ]);
    expect(output.transcript.segments.map(({ text }) => text)).toEqual([
      " do re mi.",
      " fa so.",
      " la ti re.",
    ]);
    for (const segment of output.transcript.segments) {
      const { averageLogprob, noSpeechProbability, temperature } = segment;
      expect(temperature).toBe(0);
      expect(averageLogprob).toBeGreaterThan(-0.01);
      expect(noSpeechProbability).toBeLessThan(0.001);
    }
    expect(output.transcript.logprobs.map(({ token }) => token).join("")).toBe(
      " do re mi. fa so. la ti re.",
    );
    expect(output.deltas.map(({ delta }) => delta)).toEqual(["do re mi. fa so.", " la ti re."]);
    expect(output.fractions).toEqual(output.fractions.toSorted((a, b) => a - b));
  });

  test("hears the language among those that the model knows, and refuses others", async () => {
    const { run } = merged;
    const ask = async (notes: string) => {
      const { transcript } = await outputOf(run(wavOf(melody(notes)), { language: null }));
      return [transcript.language, transcript.text];
    };
    expect(await ask("0120")).toEqual(["en", "do re mi do"]);
    expect(await ask("3453")).toEqual(["de", "fa so la fa"]);
    await expect(outputOf(run(wavOf(melody("01")), { language: "yue" }))).rejects.toMatchObject({
      code: "invalid_value",
      param: "language",
      message: 'language must be one of en, de, fr for whisper, got "yue"',
    });
  });

  test("of a model of English only asks for no language", async () => {
    const { run } = await open({ isMultilingual: false });
    const { transcript } = await outputOf(run(wavOf(melody("4567")), { language: null }));
    expect(transcript).toMatchObject({ language: "en", text: "so la ti." });
    const german = outputOf(run(wavOf(melody("4567")), { language: "de" }));
    await expect(german).rejects.toThrow("language must be one of en for whisper");
  });

  test("says nothing where nobody speaks, though something hums", async () => {
    const { run } = merged;
    const { durationSeconds, transcript } = await outputOf(run(wavOf(tone(120, 3))));
    expect([durationSeconds, transcript.text]).toEqual([3, ""]);
  });

  test("listens only where the package's voice detector hears a voice", async () => {
    const folder = ownFolder();
    writeVoiceDetector(join(folder, "silero_vad.onnx"));
    const { run } = await open({}, [folder]);
    const quiet = melody("0101").map((sample) => sample / 10);
    const sound = wavOf(Float32Array.of(...quiet, ...melody("347")));
    expect((await outputOf(run(sound))).transcript.text).toBe("do re do re fa so.");
    const { transcript } = await outputOf(run(sound, { voiceDetection: { paddingMs: 0 } }));
    expect(transcript.text).toBe("fa so.");
  });

  test("times words where the decoder shows what it looks at, else refuses", async () => {
    const words = { format: "verbose_json", granularities: ["word"] } as const;
    const sound = wavOf(melody(`${" ".repeat(60)}01275 `));
    const refused = outputOf(merged.run(sound, words));
    await expect(refused).rejects.toMatchObject({
      code: "invalid_value",
      param: "timestamp_granularities",
    });
    const { run } = await open({ decoder: "split", attentions: true });
    const { transcript } = await outputOf(run(sound, words));
    const expected = [
      ["do", 30, 30.5],
      ["re", 30.5, 31],
      ["mi.", 31, 32],
      ["la", 32, 32.5],
    ] as const;
    expect(transcript.words.map(({ word }) => word)).toEqual(expected.map(([word]) => word));
    for (const [at, [, start, end]] of expected.entries()) {
      const { startSeconds = 0, endSeconds = 0 } = transcript.words[at] ?? {};
      // A step is 0.02 s, and each edge lies between two notes.
      expect(Math.abs(startSeconds - start)).toBeLessThanOrEqual(0.041);
      expect(Math.abs(endSeconds - end)).toBeLessThanOrEqual(0.041);
    }
  });

  test("hears no further window when it is cancelled", async () => {
    const stopping = new AbortController();
    const sound = wavOf(melody(`${"0127".padEnd(60)}5617`));
    const stages: string[] = [];
    const listen = async () => {
      for await (const event of merged.run(sound, {}, stopping.signal)) {
        if (event.type === "progress") stages.push(event.stage);
        if (stages.includes("listening")) stopping.abort(new JobError("cancelled", "enough"));
      }
    };
    await expect(listen()).rejects.toMatchObject({ code: "cancelled" });
    expect(stages).toEqual(["decoding", "listening"]);
  });
});
