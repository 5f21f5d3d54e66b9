import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { addModel } from "#framemill/models/add-model.js";
import type { WhisperDecoder } from "#framemill/models/whisper/decoder.js";
import { createLogMel } from "#framemill/media/mel.js";
import { readWindow } from "#framemill/models/whisper/transcribe-sound.js";
import { melBinOf, melody, PITCHES_HZ, tone, wavOf } from "../../support/melody.js";
import { deviation } from "../../support/npy.js";
import { createRandom } from "../../support/onnx.js";
import { addTinyWhisper, writeTinyWhisper } from "../../support/tiny-whisper.js";
import type { TinyWhisper } from "../../support/tiny-whisper-graphs.js";
import { openSound, ownFolder, withDecoder } from "../../support/transcriber.js";
import {
  FIRST_TIME,
  isTime,
  isWord,
  languageOf,
  steeringId,
  timeId,
  wordId,
} from "../../support/whisper-vocabulary.js";

const PROMPT = ["startoftranscript", "en", "transcribe"].map(steeringId);
const END = steeringId("endoftext");

describe("Whisper's features", () => {
  /** Levels [bins, 100] by the definition: a sum for each line of each frame, each filter a triangle. */
  function featuresOf(samples: Float32Array, bins: number): Float64Array {
    const hzOf = (mel: number) => (mel < 15 ? (mel * 200) / 3 : 1_000 * 6.4 ** ((mel - 15) / 27));
    const top = 15 + (27 * Math.log(8)) / Math.log(6.4);
    const edge = (index: number) => hzOf((top * index) / (bins + 1));
    const levels = new Float64Array(bins * 100);
    for (let frame = 0; frame < 100; frame++) {
      const powers = Array.from({ length: 201 }, (_, line) => powerOf(samples, 160 * frame, line));
      for (let bin = 0; bin < bins; bin++) {
        const [low, centre, high] = [edge(bin), edge(bin + 1), edge(bin + 2)];
        const height = (hz: number) =>
          Math.min((hz - low) / (centre - low), (high - hz) / (high - centre));
        const power = powers.reduce(
          (sum, it, line) => sum + (it * Math.max(0, height(40 * line)) * 2) / (high - low),
          0,
        );
        levels[bin * 100 + frame] = Math.log10(Math.max(power, 1e-10));
      }
    }
    const floor = levels.reduce((most, it) => Math.max(most, it)) - 8;
    return levels.map((level) => (Math.max(level, floor) + 4) / 4);
  }

  /** Of 400 samples under a periodic Hann window, at 40 Hz a line. */
  function powerOf(samples: Float32Array, from: number, line: number): number {
    let [real, imaginary] = [0, 0];
    for (let at = 0; at < 400; at++) {
      const sample = (samples[from + at] ?? 0) * (0.5 - 0.5 * Math.cos((2 * Math.PI * at) / 400));
      real += sample * Math.cos((2 * Math.PI * line * at) / 400);
      imaginary += sample * Math.sin((2 * Math.PI * line * at) / 400);
    }
    return real ** 2 + imaginary ** 2;
  }

  test.each([80, 128])("are levels of %i filters, as they are defined", (bins) => {
    const random = createRandom();
    const samples = tone(1_000, 1.015).map((sample, at) =>
      at < 6_000 ? sample : at < 8_000 ? 0 : 0.3 * random(),
    );
    const features = createLogMel(bins)(samples);
    // float32 features, sums of doubles: 8e-8 was measured.
    expect(deviation(features, featuresOf(samples, bins))).toBeLessThan(1e-5);
  });

  test("of a window in the middle hear what is around it, and silence beyond its region", async () => {
    const pcm = await openSound(wavOf(melody("0123456")));
    const region = { start: 16_000, end: 48_000 };
    const window = await readWindow(pcm, region, 32_000);
    expect(window.length).toBe(480_000 + 240);
    expect([...window.subarray(0, 16_200)]).toEqual([...(await pcm.read(31_800, 48_000))]);
    expect(window.subarray(16_200).every((it) => it === 0)).toBe(true);
    await pcm.close();
  });
});

/** The network of tiny-whisper-graphs.ts in plain sums, over features [bins, 3000]. */
function createReference(features: Float32Array, bins: number) {
  const levelOf = (pitch: number, frame: number) => {
    const row = melBinOf(PITCHES_HZ[pitch] ?? 0, bins) * 3_000;
    return ((features[row + 2 * frame] ?? 0) + (features[row + 2 * frame + 1] ?? 0)) / 2;
  };
  const frames = Array.from({ length: 1_500 }, (_, frame) => frame);
  const sum = (values: readonly number[]) => values.reduce((total, it) => total + it, 0);
  /** Where a token behind `words` words looks. */
  const weightsOf = (words: number) => {
    const distanceOf = (frame: number) => (frame + 0.5) / 25 - words - 0.5;
    const wave = (distance: number, length: number) => Math.cos((2 * Math.PI * distance) / length);
    const scores = frames.map((frame) =>
      Math.exp(20 * sum([4, 16, 64].map((length) => wave(distanceOf(frame), length) - 1))),
    );
    const total = sum(scores);
    return scores.map((score) => score / total);
  };
  const pitches = PITCHES_HZ.map((_, pitch) => pitch);
  const seen = (weights: readonly number[]) =>
    pitches.map((pitch) =>
      sum(frames.map((frame) => (weights[frame] ?? 0) * levelOf(pitch, frame))),
    );

  function timeScores(behind: readonly number[], note: readonly number[]): number[] {
    const [words, times] = [isWord, isTime].map((is) => sum(behind.map(is)));
    const last = behind.at(-1) ?? 0;
    const isOpen = (times ?? 0) % 2 === 1;
    const behindTime = isOpen ? -40 : 20 * Math.max(...note) + 10;
    const isEager = last === steeringId("transcribe") || last === wordId(7);
    const base = isTime(last) ? behindTime : isEager ? 42 : 12;
    const never = behind.includes(steeringId("notimestamps")) ? -100 : 0;
    return Array.from(
      { length: 1_501 },
      (_, step) => base + never - 4 * Math.abs(step - 25 * (words ?? 0)),
    );
  }

  /** Scores [vocabulary] of what comes behind `ids`. */
  function scoresOf(ids: readonly number[]): number[] {
    const behind = ids.slice(ids.indexOf(steeringId("startoftranscript")));
    const words = sum(behind.map(isWord));
    const note = seen(weightsOf(words));
    const window = seen(frames.map(() => 1 / 1_500));
    const text = Array.from({ length: FIRST_TIME }, (_, id): number => (isWord(id) ? 0 : -30));
    text[END] = 8;
    text[steeringId("fr")] = -100;
    if (behind.length === 1) text[steeringId("nospeech")] = 15;
    for (const pitch of pitches) {
      const add = (id: number | undefined, level = 0) => {
        if (id !== undefined) text[id] = (text[id] ?? 0) + 20 * level;
      };
      add(wordId(pitch), note[pitch]);
      add(languageOf(pitch), window[pitch]);
    }
    return [...text, ...timeScores(behind, note)];
  }
  return { scoresOf, weightsOf };
}

/** Features in [-1, 1) where everything sounds at once. */
function randomFeatures(bins: number): Float32Array {
  const random = createRandom(7);
  return Float32Array.from({ length: bins * 3_000 }, random);
}

describe("a Whisper of one layout", () => {
  // Shares of 1 + |score|: 6e-6 and 0.01 were measured, as float16 has 11 bits for levels, places and scores.
  test.each<[string, TinyWhisper, number]>([
    ["a merged decoder", { decoder: "merged" }, 5e-5],
    [
      "a pair of decoders, 128 filters and weights beside the graphs",
      { decoder: "split", melBins: 128, besides: true },
      5e-5,
    ],
    ["a merged decoder in float16", { decoder: "merged", half: true }, 0.03],
  ])("with %s scores what comes next as its formula does", async (_, variant, tolerance) => {
    const { melBins: bins = 80 } = variant;
    const features = randomFeatures(bins);
    const { scoresOf } = createReference(features, bins);
    const distance = (scores: Float32Array, expected: readonly number[]) => {
      const shareOf = (it: number, at: number) => it / (1 + Math.abs(expected[at] ?? 0));
      return deviation(scores.map(shareOf), expected.map(shareOf));
    };
    const model = await addTinyWhisper(variant);
    expect(model).toMatchObject({
      modality: "transcription",
      pipeline: "whisper",
      shapes: { sampleRateHz: 16_000, melBins: bins },
    });
    await withDecoder(model, async (decoder) => {
      await decoder.hear(features);
      const prompt = [steeringId("startofprev"), wordId(3), wordId(4), ...PROMPT];
      const { atMark, last } = await decoder.start(prompt, 3);
      expect(distance(atMark, scoresOf(prompt.slice(0, 4)))).toBeLessThan(tolerance);
      expect(distance(last, scoresOf(prompt))).toBeLessThan(tolerance);
      const times = [timeId(0), wordId(2), wordId(0), timeId(1), timeId(1), wordId(7)];
      const said = [...times, steeringId("notimestamps")];
      // The same again: what was read behind the prompt leaves no trace.
      for (const tokens of [said, said.toReversed()]) {
        decoder.rewind();
        for (const [at, token] of tokens.entries()) {
          const expected = scoresOf([...prompt, ...tokens.slice(0, at + 1)]);
          expect(distance(await decoder.step(token), expected)).toBeLessThan(tolerance);
        }
      }
    });
  });

  test.each([
    ["preprocessor_config.json", "it holds the settings of the mel spectrogram"],
    ["generation_config.json", "it names the languages"],
    ["tokenizer.json", "save the model with its fast tokenizer"],
    ["onnx/decoder_with_past_model.onnx", "in any dtype"],
  ])("without %s is refused in a sentence", async (file, reason) => {
    const folder = ownFolder();
    await writeTinyWhisper(join(folder, "whisper"), { decoder: "split" });
    await rm(join(folder, "whisper", file));
    const refused = addModel(join(folder, "whisper"), { modelsDir: join(folder, "models") });
    await expect(refused).rejects.toThrow(new RegExp(`^whisper has no ${file}.*${reason}`));
  });

  test("with cross attentions shows where each layer looks", async () => {
    const features = randomFeatures(80);
    const { weightsOf } = createReference(features, 80);
    const model = await addTinyWhisper({ decoder: "merged", attentions: true });
    await withDecoder(model, async (decoder) => {
      await decoder.hear(features);
      const layers = await decoder.attend([...PROMPT, wordId(1), wordId(2)]);
      expect(layers.map(({ heads, frames }) => [heads, frames])).toEqual([
        [2, 1_500],
        [2, 1_500],
      ]);
      const expected = [0, 0, 0, 1, 2].flatMap(weightsOf);
      const even = expected.map(() => 1 / 1_500);
      const [whole, note] = layers.map(({ weights }) => weights);
      expect(deviation(whole ?? [], [...even, ...even])).toBeLessThan(1e-5);
      expect(deviation(note ?? [], [...expected, ...even])).toBeLessThan(1e-5);
    });
  });

  test("reads a melody as transformers.js does, token by token", async () => {
    const { AutoProcessor, env, WhisperForConditionalGeneration } =
      await import("@huggingface/transformers");
    const model = await addTinyWhisper({ decoder: "merged" });
    env.allowRemoteModels = false;
    env.localModelPath = dirname(model.path);
    const processor = await AutoProcessor.from_pretrained(model.id);
    const peer = await WhisperForConditionalGeneration.from_pretrained(model.id, { dtype: "fp32" });
    const pcm = await openSound(wavOf(melody("0227614537")));
    const samples = await pcm.read(0, pcm.sampleCount);
    const window = await readWindow(pcm, { start: 0, end: pcm.sampleCount }, 0);
    await pcm.close();
    const prompt = [...PROMPT, steeringId("notimestamps")];
    const own = await withDecoder(model, async (decoder) => {
      await decoder.hear(createLogMel(80)(window));
      return greedy(decoder, prompt);
    });
    expect(own).toEqual([...[0, 2, 2, 7, 6, 1, 4, 5, 3, 7].map(wordId), END]);
    const inputs = (await processor(samples)) as object;
    const asked = { ...inputs, language: "en", task: "transcribe", max_new_tokens: 20 };
    const said = (await peer.generate(asked)) as { readonly data: ArrayLike<bigint> };
    expect(Array.from(said.data, Number)).toEqual([...prompt, ...own]);
    await peer.dispose();
  });
});

/** Likeliest tokens behind a prompt, up to the end of the text. */
async function greedy(decoder: WhisperDecoder, prompt: readonly number[]): Promise<number[]> {
  let { last: scores } = await decoder.start(prompt, 0);
  const tokens: number[] = [];
  while (tokens.at(-1) !== END && tokens.length < 30) {
    tokens.push(scores.indexOf(Math.max(...scores)));
    scores = await decoder.step(tokens.at(-1) ?? END);
  }
  return tokens;
}
