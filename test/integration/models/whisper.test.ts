import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { ModelPackage } from "#framemill/inference/model-package.js";
import { chooseToken } from "#framemill/inference/speech-recognition/choose-token.js";
import {
  createWhisperDecoder,
  type WhisperDecoder,
} from "#framemill/inference/speech-recognition/whisper-decoder.js";
import {
  openWhisper,
  type WhisperModel,
} from "#framemill/inference/speech-recognition/whisper-model.js";
import { floatsOf, float32 } from "#framemill/inference/tensor.js";
import { createLogMel, SPEECH_RATE_HZ } from "#framemill/media/mel.js";
import { readWindow } from "#framemill/modalities/transcription/sound-window.js";
import { addedModel } from "../../support/added-model.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";
import {
  openSound,
  SPEECH_PATH,
  TINY_WHISPER,
  whisperVariant,
} from "../../support/tiny-whisper.js";

/** float32 values of a NumPy file. */
function readNpy(...path: string[]): Float32Array {
  const bytes = readFileSync(publishedModel(...path));
  const start = 10 + bytes.readUInt16LE(8);
  return new Float32Array(Uint8Array.from(bytes.subarray(start)).buffer);
}

function greatestDifference(one: ArrayLike<number>, other: ArrayLike<number>): number {
  return Array.from(one).reduce(
    (most, it, at) => Math.max(most, Math.abs(it - (other[at] ?? 0))),
    0,
  );
}

async function withDecoder<T>(
  model: ModelPackage,
  use: (decoder: WhisperDecoder, whisper: WhisperModel) => Promise<T>,
): Promise<T> {
  const whisper = await openWhisper(model, { threads: 1 });
  const decoder = createWhisperDecoder(whisper);
  try {
    return await use(decoder, whisper);
  } finally {
    decoder.close();
    await whisper.close();
  }
}

/** Likeliest tokens after a prompt; only the first may not be a suppressed one. */
async function greedy(decoder: WhisperDecoder, prompt: readonly number[], count: number) {
  let { last: logits } = await decoder.start(prompt, 0);
  for (const id of [220, 50_257]) logits[id] = -Infinity;
  const tokens: number[] = [];
  while (tokens.length < count) {
    const { token } = chooseToken(logits, 0, Math.random);
    tokens.push(token);
    logits = await decoder.step(token);
  }
  return tokens;
}

const PROMPT = [50_258, 50_259, 50_359, 50_363];

describeWithModels("Whisper's parts", () => {
  const golden = JSON.parse(readFileSync(publishedModel(TINY_WHISPER, "golden.json"), "utf8")) as {
    readonly prompt: number[];
    readonly greedy_ids: number[];
  };

  test("the features are the reference's", async () => {
    const pcm = await openSound(readFileSync(SPEECH_PATH), "features");
    const features = createLogMel(80)(await readWindow(pcm, { start: 0, end: pcm.sampleCount }, 0));
    await pcm.close();
    // WhisperFeatureExtractor of transformers 4.57.6, float32 throughout: 1.4e-5 was measured.
    expect(greatestDifference(features, readNpy(TINY_WHISPER, "golden", "mel.npy"))).toBeLessThan(
      1e-4,
    );
    const rows = readFileSync(
      publishedModel("asr-fixtures", "ortx_whisper_expected_output.txt"),
      "utf8",
    );
    const expected = rows
      .trim()
      .split("\n")
      .map((row) => row.split(",").map(Number));
    const own = expected.map((_, bin) => features.subarray(bin * 3_000, bin * 3_000 + 10));
    const differences = expected.map((row, bin) => greatestDifference(row, own[bin] ?? []));
    // onnxruntime-extensions rounds its filters to fewer digits: 0.0072 was measured.
    expect(Math.max(...differences)).toBeLessThan(0.01);
  });

  test("a window in the middle hears what is around it, and silence beyond its region", async () => {
    const pcm = await openSound(readFileSync(SPEECH_PATH), "window");
    const region = { start: 16_000, end: 48_000 };
    const window = await readWindow(pcm, region, 32_000);
    expect(window.length).toBe(480_000 + 240);
    expect([...window.subarray(0, 16_200)]).toEqual([...(await pcm.read(31_800, 48_000))]);
    expect(window.subarray(16_200).every((it) => it === 0)).toBe(true);
    await pcm.close();
  });

  test("the encoder's states and the decoder's tokens are the reference's, merged or split", async () => {
    const features = readNpy(TINY_WHISPER, "golden", "mel.npy");
    const decode = (model: ModelPackage) =>
      withDecoder(model, async (decoder, { thread }) => {
        const input = float32(features, [1, 80, 3_000]);
        const states = floatsOf(
          await thread.run("encoder", { input_features: input }),
          "last_hidden_state",
        );
        const first = readNpy(TINY_WHISPER, "golden", "encoder_last_hidden_state_first8.npy");
        expect(greatestDifference(first, states)).toBeLessThan(1e-4);
        await decoder.hear(features);
        const tokens = await greedy(decoder, golden.prompt, 16);
        // The same again: what was read after the prompt leaves no trace.
        decoder.rewind();
        expect(await greedy(decoder, golden.prompt, 16)).toEqual(tokens);
        return tokens;
      });
    const merged = await decode(await addedModel(TINY_WHISPER));
    expect([...golden.prompt, ...merged]).toEqual(golden.greedy_ids);
    expect(await decode(await whisperVariant("split"))).toEqual(merged);
  });

  test("transformers.js says the same, token by token", async () => {
    const { AutoProcessor, env, WhisperForConditionalGeneration } =
      await import("@huggingface/transformers");
    env.allowRemoteModels = false;
    env.localModelPath = publishedModel("tiny-official");
    const processor = await AutoProcessor.from_pretrained("asr-whisper");
    const peer = await WhisperForConditionalGeneration.from_pretrained("asr-whisper", {
      dtype: "fp32",
    });
    for (const name of ["1272-141231-0002.wav", "jfk.flac"]) {
      const pcm = await openSound(readFileSync(publishedModel("asr-fixtures", name)), "peer");
      const samples = await pcm.read(0, pcm.sampleCount);
      const window = await readWindow(pcm, { start: 0, end: pcm.sampleCount }, 0);
      await pcm.close();
      const own = await withDecoder(await addedModel(TINY_WHISPER), async (decoder) => {
        await decoder.hear(createLogMel(80)(window));
        return greedy(decoder, PROMPT, 100);
      });
      const inputs = (await processor(samples)) as object;
      const asked = { ...inputs, language: "en", task: "transcribe", max_new_tokens: 100 };
      const said = (await peer.generate(asked)) as { readonly data: ArrayLike<bigint> };
      expect([...PROMPT, ...own]).toEqual(Array.from(said.data, Number));
    }
    await peer.dispose();
  });
});

describe("a tone without a model", () => {
  test("is loudest in the bin of its pitch", () => {
    const tone = Float32Array.from({ length: 16_240 }, (_, at) =>
      Math.sin((2 * Math.PI * 1_000 * at) / SPEECH_RATE_HZ),
    );
    const features = createLogMel(80)(tone);
    const column = Array.from({ length: 80 }, (_, bin) => features[bin * 100 + 50] ?? 0);
    // 1 kHz is mel 15 of 45.2 at 8 kHz: centre of bin 26 of 80 (81 steps).
    expect(column.indexOf(Math.max(...column))).toBe(26);
    expect(Math.min(...features)).toBeCloseTo(Math.max(...features) - 2, 5);
  });
});
