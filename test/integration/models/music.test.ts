import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { JobError } from "#framemill/core/errors.js";
import type { PipelineEvent } from "#framemill/core/events.js";
import type { AdmitContext, Pipeline } from "#framemill/core/modality.js";
import {
  loadModelPackage,
  type ModelPackage,
  modelInfo,
} from "#framemill/inference/model-package.js";
import { decodeCodes } from "#framemill/inference/musicgen/codec.js";
import { createCodeSampler } from "#framemill/inference/musicgen/code-sampler.js";
import { createColumnDecoder, type TextStates } from "#framemill/inference/musicgen/decoder.js";
import { makeCodes } from "#framemill/inference/musicgen/make-codes.js";
import { openMusicgen } from "#framemill/inference/musicgen/musicgen.js";
import { parseMusicgenSettings } from "#framemill/inference/musicgen/settings.js";
import { openSessions, type SessionThread } from "#framemill/inference/session.js";
import { float32, floatsOf, int64Of } from "#framemill/inference/tensor.js";
import { loadTextTokenizer } from "#framemill/inference/text-tokenizer.js";
import { probeMedia } from "#framemill/media/probe.js";
import { music } from "#framemill/modalities/music/index.js";
import type { MusicOutput, MusicRequest } from "#framemill/modalities/music/request.js";
import { createMusicPipeline } from "#framemill/modalities/music/pipeline.js";
import { addedModel } from "../../support/added-model.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";

const NAME = "tiny-official/music-musicgen";
const file = (...path: string[]) => publishedModel(NAME, ...path);
const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "espeak-ng" };

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

function greatestDifference(left: ArrayLike<number>, right: ArrayLike<number>): number {
  let greatest = Math.abs(left.length - right.length);
  for (let index = 0; index < left.length; index++)
    greatest = Math.max(greatest, Math.abs((left[index] ?? 0) - (right[index] ?? 0)));
  return greatest;
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

  async function encodeGoldenText(sessions: SessionThread): Promise<TextStates> {
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
    use: (sessions: SessionThread) => Promise<Result>,
  ): Promise<Result> {
    const sessions = await openSessions({ graphs, threads: 1, providers: ["cpu"] });
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
    expect(greatestDifference(sound.samples, golden)).toBeLessThan(1e-3);
  });

  test.each([
    ["merged", merged],
    ["split", split],
  ])("reads many columns at once as one by one, with a %s decoder", async (_, graphs) => {
    const settings = await readSettings();
    const count = 12;
    // Rows of columns, as a window that goes on from the one before begins with.
    const columns = Array.from({ length: 4 * count }, (_code, index) => (index * 7) % 64);
    await withSessions(graphs, async (sessions) => {
      const text = await encodeGoldenText(sessions);
      const whole = createColumnDecoder(sessions, text, settings);
      const stepwise = createColumnDecoder(sessions, text, settings);
      const last = await whole.feed(columns, count);
      for (let column = 0; column < count; column++) {
        const fed = [0, 1, 2, 3].map((row) => columns[row * count + column] ?? 0);
        const logits = await stepwise.feed(fed, 1);
        if (column < count - 1) continue;
        for (const [batchRow, codebook] of [
          [0, 0],
          [0, 3],
          [1, 2],
        ] as const) {
          const from = last.offsetOf(batchRow, codebook);
          const to = logits.offsetOf(batchRow, codebook);
          const difference = greatestDifference(
            last.values.subarray(from, from + 64),
            logits.values.subarray(to, to + 64),
          );
          expect(difference).toBeLessThan(1e-5);
        }
      }
      whole.close();
      stepwise.close();
    });
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
      expect(greatestDifference(found ?? [], golden)).toBeLessThan(1e-3);
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
      expect(greatestDifference(whole.samples, chunked.samples)).toBeLessThan(1e-5);
    });
  });
});

describeWithModels("the music pipeline", () => {
  let pipeline: Pipeline<MusicRequest, MusicOutput>;
  let context: AdmitContext;
  let scratchPath: string;

  beforeAll(async () => {
    const model = await addedModel(NAME);
    scratchPath = await mkdtemp(join(tmpdir(), "framemill-music-"));
    pipeline = await createMusicPipeline({ modelPath: model.path, threads: 1, ...programs });
    context = {
      model: { ...(await modelInfo(model)), maxSeconds: 60 },
      path: "/v1/music",
      saveInput: () => Promise.reject(new Error("music has no inputs")),
      findEarlier: () => Promise.resolve(undefined),
    };
  });

  afterAll(async () => {
    await pipeline.close();
    await rm(scratchPath, { recursive: true });
  });

  async function make(
    body: object,
    listen: (event: PipelineEvent<MusicOutput>) => void = () => {},
    abort = new AbortController(),
  ) {
    const whole = { ...music.example(), model: context.model.id, ...body };
    const request = await music.admit(whole, context);
    const events: PipelineEvent<MusicOutput>[] = [];
    const readInput = () => Promise.reject(new Error("music has no inputs"));
    for await (const event of pipeline.run(request, {
      signal: abort.signal,
      scratchPath,
      readInput,
    })) {
      events.push(event);
      listen(event);
    }
    return events;
  }

  function contentOf(events: readonly PipelineEvent<MusicOutput>[]) {
    const found = events.find((event) => event.type === "file");
    if (found?.type !== "file") throw new Error("there must be a file");
    return found;
  }

  test.each([
    { format: "mp3", codec: "mp3", mediaType: "audio/mpeg", rate: 32_000, longest: 1.08 },
    { format: "wav", codec: "pcm_s16le", mediaType: "audio/wav", rate: 32_000, longest: 1 },
    { format: "flac", codec: "flac", mediaType: "audio/flac", rate: 32_000, longest: 1 },
    {
      format: "opus",
      codec: "opus",
      mediaType: "audio/ogg; codecs=opus",
      rate: 48_000,
      longest: 1.02,
    },
  ])(
    "makes a $format file of the length ordered",
    async ({ format, codec, mediaType, rate, longest }) => {
      const events = await make({ response_format: format });
      const content = contentOf(events);
      expect(content).toMatchObject({ variant: "content", mediaType });
      const { audio, durationSeconds } = await probeMedia(content.path);
      expect(audio).toMatchObject({ codec, sampleRateHz: rate, channels: 1 });
      expect(durationSeconds).toBeGreaterThanOrEqual(0.98);
      expect(durationSeconds).toBeLessThanOrEqual(longest);
      expect(events.at(-1)).toEqual({ type: "output", output: { audioSeconds: 1 } });
    },
  );

  test.each(["mp3", "opus"])(
    "makes the same %s bytes of the same seed, others of another",
    async (format) => {
      const bytesOf = async (seed: number) =>
        await readFile(contentOf(await make({ response_format: format, seed })).path);
      const first = await bytesOf(1);
      expect(first.equals(await bytesOf(1))).toBe(true);
      expect(first.equals(await bytesOf(2))).toBe(false);
    },
  );

  test("goes on past the window of the model, telling its progress step by step", async () => {
    // 256 positions hold 252 frames, five seconds; six seconds are 300 frames in two windows.
    const events = await make({ seconds: 6, response_format: "wav" });
    expect((await probeMedia(contentOf(events).path)).durationSeconds).toBe(6);
    const progress = events.flatMap((event) => (event.type === "progress" ? [event] : []));
    const steps = progress.filter(({ stage }) => stage === "steps");
    // Nothing, then 252 + 3 columns, then 148 in all of which 100 frames were known: 48 + 3.
    expect(steps).toHaveLength(1 + 255 + 51);
    const fractions = progress.map(({ fraction }) => fraction);
    expect(fractions).toEqual(fractions.toSorted((left, right) => left - right));
    expect([...new Set(progress.map(({ stage }) => stage))]).toEqual([
      "steps",
      "decoding",
      "encoding",
      "checking",
    ]);
  });

  test("stops within a step when it is cancelled, and works on afterwards", async () => {
    const abort = new AbortController();
    let heard = 0;
    const listen = () => {
      heard += 1;
      if (heard === 10) abort.abort(new JobError("cancelled", "the caller cancelled"));
    };
    await expect(make({ seconds: 30 }, listen, abort)).rejects.toMatchObject({ code: "cancelled" });
    expect(heard).toBe(10);
    expect(contentOf(await make({})).variant).toBe("content");
  });
});
