import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { addModel } from "#framemill/models/add-model.js";
import type { ModelPackage } from "#framemill/runtime/packages/model-package.js";
import type { WhisperDecoder } from "#framemill/models/whisper/decoder.js";
import { floatsOf, float32 } from "#framemill/runtime/tensors/tensor.js";
import { createLogMel } from "#framemill/media/mel.js";
import { readWindow } from "#framemill/models/whisper/transcribe-sound.js";
import { addedModel } from "../../support/added-model.js";
import { deviation, readFloatsNpy } from "../../support/npy.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";
import { openSound, ownFolder, withDecoder } from "../../support/transcriber.js";

const NAME = "tiny-official/asr-whisper";
const PROMPT = [50_258, 50_259, 50_359, 50_363];

const readSpeech = (name: string) => readFileSync(publishedModel("asr-fixtures", name));
const readGolden = (name: string) => readFloatsNpy(publishedModel(NAME, "golden", name));

/** Features [80, 3000] of a sound's first window. */
async function featuresOf(bytes: Uint8Array): Promise<Float32Array> {
  const pcm = await openSound(bytes);
  const window = await readWindow(pcm, { start: 0, end: pcm.sampleCount }, 0);
  await pcm.close();
  return createLogMel(80)(window);
}

/** Likeliest tokens after a prompt; only the first may not be a suppressed one. */
async function greedy(decoder: WhisperDecoder, prompt: readonly number[], count: number) {
  let { last: scores } = await decoder.start(prompt, 0);
  for (const id of [220, 50_257]) scores[id] = -Infinity;
  const tokens: number[] = [];
  while (tokens.length < count) {
    const most = scores.reduce((best, score, id) => (score > (scores[best] ?? 0) ? id : best), 0);
    tokens.push(most);
    scores = await decoder.step(most);
  }
  return tokens;
}

/** The pair of decoders that the published folder holds beside the merged one. */
function addSplit(): Promise<ModelPackage> {
  const folder = ownFolder();
  const source = join(folder, "split");
  const filter = (path: string) => !/golden|merged/.test(path);
  cpSync(publishedModel(NAME), source, { recursive: true, filter });
  return addModel(source, { modelsDir: join(folder, "models") });
}

describeWithModels("a published Whisper", () => {
  test("has the reference's features", async () => {
    const features = await featuresOf(readSpeech("1272-141231-0002.wav"));
    // WhisperFeatureExtractor of transformers 4.57.6, float32 throughout: 1.4e-5 was measured.
    expect(deviation(features, await readGolden("mel.npy"))).toBeLessThan(1e-4);
    const rows = readSpeech("ortx_whisper_expected_output.txt").toString("utf8").trim().split("\n");
    const differences = rows.map((row, bin) => {
      const expected = row.split(",").map(Number);
      return deviation(features.subarray(bin * 3_000, bin * 3_000 + expected.length), expected);
    });
    // onnxruntime-extensions rounds its filters to fewer digits: 0.0072 was measured.
    expect(Math.max(...differences)).toBeLessThan(0.01);
  });

  test("has the reference's states and tokens, merged or split", async () => {
    const golden = JSON.parse(readFileSync(publishedModel(NAME, "golden.json"), "utf8")) as {
      readonly prompt: number[];
      readonly greedy_ids: number[];
    };
    const features = Float32Array.from(await readGolden("mel.npy"));
    const first = await readGolden("encoder_last_hidden_state_first8.npy");
    for (const model of [await addedModel(NAME), await addSplit()])
      await withDecoder(model, async (decoder, { thread }) => {
        const input = { input_features: float32(features, [1, 80, 3_000]) };
        const states = floatsOf(await thread.run("encoder", input), "last_hidden_state");
        expect(deviation(states.subarray(0, first.length), first)).toBeLessThan(1e-4);
        await decoder.hear(features);
        const tokens = await greedy(decoder, golden.prompt, 16);
        expect([...golden.prompt, ...tokens]).toEqual(golden.greedy_ids);
      });
  });

  test("says of real speech what transformers.js says, token by token", async () => {
    const { AutoProcessor, env, WhisperForConditionalGeneration } =
      await import("@huggingface/transformers");
    env.allowRemoteModels = false;
    env.localModelPath = publishedModel("tiny-official");
    const processor = await AutoProcessor.from_pretrained("asr-whisper");
    const peer = await WhisperForConditionalGeneration.from_pretrained("asr-whisper", {
      dtype: "fp32",
    });
    for (const name of ["1272-141231-0002.wav", "jfk.flac"]) {
      const pcm = await openSound(readSpeech(name));
      const samples = await pcm.read(0, pcm.sampleCount);
      await pcm.close();
      const own = await withDecoder(await addedModel(NAME), async (decoder) => {
        await decoder.hear(await featuresOf(readSpeech(name)));
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
