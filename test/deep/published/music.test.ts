import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadModelPackage, type ModelPackage } from "#framemill/runtime/packages/model-package.js";
import { decodeCodes } from "#framemill/models/musicgen/codec.js";
import {
  createCodeSampler,
  makeCodes,
  type TextStates,
} from "#framemill/models/musicgen/make-codes.js";
import { openMusicgen } from "#framemill/models/musicgen/open.js";
import { parseMusicgenSettings } from "#framemill/models/musicgen/settings.js";
import { openGraphs, type Graphs } from "#framemill/runtime/ort/graphs.js";
import { float32, floatsOf, int64Of } from "#framemill/runtime/tensors/tensor.js";
import { loadTextTokenizer } from "#framemill/models/tokenizer/text-tokenizer.js";
import { addedModel } from "../../support/added-model.js";
import { deviation } from "../../support/npy.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";

const NAME = "tiny-official/music-musicgen";
const file = (...path: string[]) => publishedModel(NAME, ...path);

/** Values of a little-endian .npy file of int64 or float32, version 1. */
async function readNpy(path: string): Promise<number[]> {
  const bytes = await readFile(path);
  const start = 10 + bytes.readUInt16LE(8);
  const isInteger = bytes.toString("latin1", 10, start).includes("<i8");
  const size = isInteger ? 8 : 4;
  return Array.from({ length: (bytes.length - start) / size }, (_, index) => {
    const at = start + index * size;
    return isInteger ? Number(bytes.readBigInt64LE(at)) : bytes.readFloatLE(at);
  });
}

async function readSettings() {
  const readJson = async (name: string): Promise<unknown> =>
    JSON.parse(await readFile(file(name), "utf8"));
  return parseMusicgenSettings(await readJson("config.json"), { do_sample: false });
}

/** A copy of the package that generates otherwise than published. */
async function copyPackage(model: ModelPackage, generation: object): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "framemill-music-"));
  await cp(model.path, folder, { recursive: true });
  const { path = "" } = model.files["generation-config"] ?? {};
  await writeFile(join(folder, path), JSON.stringify(generation));
  return folder;
}

async function finish<Result>(work: AsyncGenerator<unknown, Result>): Promise<Result> {
  let step = await work.next();
  while (!step.done) step = await work.next();
  return step.value;
}

const { signal } = new AbortController();

// The golden files hold the reference PyTorch pipeline's greedy run with guidance 3, 24 new tokens.
describeWithModels("the MusicGen loop on a published export", () => {
  const graphsOf = (...decoders: readonly (readonly [string, string])[]) => ({
    "text-encoder": file("onnx", "text_encoder.onnx"),
    "audio-decoder": file("onnx", "encodec_decode.onnx"),
    ...Object.fromEntries(decoders.map(([role, name]) => [role, file("onnx", `${name}.onnx`)])),
  });
  const merged = graphsOf(["decoder-merged", "decoder_model_merged"]);
  const split = graphsOf(
    ["decoder", "decoder_model"],
    ["decoder-with-past", "decoder_with_past_model"],
  );

  async function encodeGoldenText(sessions: Graphs): Promise<TextStates> {
    const ids = await readNpy(file("golden", "input_ids.npy"));
    const ones = ids.map(() => 1);
    const encoded = await sessions.run("text-encoder", {
      input_ids: int64Of(ids, [1, ids.length]),
      attention_mask: int64Of(ones, [1, ids.length]),
    });
    const states = floatsOf(encoded, "last_hidden_state");
    const both = new Float32Array(2 * states.length);
    both.set(states);
    return {
      batch: 2,
      states: float32(both, [2, ids.length, states.length / ids.length]),
      mask: int64Of([...ones, ...ids.map(() => 0)], [2, ids.length]),
    };
  }

  async function withSessions<Result>(
    graphs: Record<string, string>,
    use: (sessions: Graphs) => Promise<Result>,
  ): Promise<Result> {
    const sessions = await openGraphs({ graphs, threads: 1, providers: ["cpu"] });
    try {
      return await use(sessions);
    } finally {
      await sessions.close();
    }
  }

  test.each([
    ["merged", merged],
    ["split", split],
  ])("makes the reference's codes and sound with a %s decoder", async (_, graphs) => {
    const settings = await readSettings();
    const { codes, sound } = await withSessions(graphs, async (sessions) => {
      const text = await encodeGoldenText(sessions);
      const sampler = createCodeSampler(settings.sampling, 0);
      const plan = { settings, text, frames: 21, sampler, signal };
      const made = await finish(makeCodes(sessions, plan));
      const decoded = await finish(decodeCodes(sessions, { settings, codes: made, signal }));
      return { codes: made, sound: decoded };
    });
    expect([...codes.values]).toEqual(await readNpy(file("golden", "audio_codes.npy")));
    const golden = await readNpy(file("golden", "audio_values.npy"));
    expect(deviation(sound.samples, golden)).toBeLessThan(1e-3);
  });

  test("makes the same from the prompt itself", async () => {
    const tokenizer = await loadTextTokenizer({ tokenizer: file("tokenizer.json") });
    const prompt = tokenizer.decode(await readNpy(file("golden", "input_ids.npy")));
    const folder = await copyPackage(await addedModel(NAME), { do_sample: false });
    const opened = await openMusicgen(await loadModelPackage(folder), { threads: 1 });
    try {
      let found: Float32Array | undefined;
      for await (const event of opened.compose({ prompt, seconds: 0.42, seed: 1 }, signal))
        if (event.type === "sound") found = event.sound.samples;
      const golden = await readNpy(file("golden", "audio_values.npy"));
      expect(deviation(found ?? [], golden)).toBeLessThan(1e-3);
    } finally {
      await opened.close();
      await rm(folder, { recursive: true });
    }
  });

  test("decodes in chunks what it decodes at once, but for the seams", async () => {
    const settings = await readSettings();
    const frames = 300;
    const values = Int32Array.from({ length: 4 * frames }, (_, index) => (index * 7919) % 64);
    const plan = { settings, codes: { values, frames }, signal };
    await withSessions(merged, async (sessions) => {
      const whole = await finish(decodeCodes(sessions, plan));
      const pieces = { ...plan, chunkFrames: 100, contextFrames: 50 };
      const chunked = await finish(decodeCodes(sessions, pieces));
      expect(deviation(whole.samples, chunked.samples)).toBeLessThan(1e-5);
    });
  });
});
