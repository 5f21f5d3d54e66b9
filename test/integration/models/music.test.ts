import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { JobError } from "#framemill/core/errors.js";
import type { PipelineEvent } from "#framemill/core/events.js";
import type { AdmitContext, Pipeline } from "#framemill/core/modality.js";
import { addModel } from "#framemill/models/add-model.js";
import {
  graphPaths,
  type ModelPackage,
  modelInfo,
  readModelText,
} from "#framemill/runtime/packages/model-package.js";
import { createColumnDecoder } from "#framemill/models/musicgen/make-codes.js";
import { openMusicgen } from "#framemill/models/musicgen/open.js";
import type { Sound } from "#framemill/models/music/music-model.js";
import { parseMusicgenSettings } from "#framemill/models/musicgen/settings.js";
import { openGraphs } from "#framemill/runtime/ort/graphs.js";
import { float32, int64Of } from "#framemill/runtime/tensors/tensor.js";
import { probeMedia } from "#framemill/media/probe.js";
import { music } from "#framemill/modalities/music/index.js";
import { createMusicPipeline } from "#framemill/modalities/music/pipeline.js";
import type { MusicOutput, MusicRequest } from "#framemill/modalities/music/request.js";
import { deviation } from "../../support/npy.js";
import {
  CODE_COUNT,
  END_ID,
  FIRST_WORD_ID,
  type TinyMusicgen,
  writeTinyMusicgen,
} from "../../support/tiny-musicgen.js";

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "framemill-music-"))));
afterAll(() => rm(folder, { recursive: true }));

let count = 0;
async function add(tiny: TinyMusicgen): Promise<ModelPackage> {
  const id = `music-${(count += 1)}`;
  writeTinyMusicgen(join(folder, "sources", id), tiny);
  return addModel(join(folder, "sources", id), { modelsDir: join(folder, "models"), id });
}

const { signal } = new AbortController();
const PROMPT = "slow piano and loud drums";
const PROMPT_IDS = [0, 1, 2, 4, 3].map((word) => FIRST_WORD_ID + word).concat(END_ID);

const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
const level = (code: number) => (code === CODE_COUNT ? 0 : code);

/** What the decoder makes of a text that the mask shows; 0 of one that it hides. */
function textOf(ids: readonly number[]): number {
  const weights = ids.map((id) => Math.exp((3 * id) / 100));
  const weighted = ids.reduce((sum, id, at) => sum + (id / 100) * (weights[at] ?? 0), 0);
  return weighted / (mean(weights) * ids.length) + (9 * mean(ids)) / 100 + 0.25;
}

/** Where the scores of a row of codes are greatest behind columns [column][row]. */
function targetOf(columns: readonly (readonly number[])[], row: number, text: number): number {
  const levels = columns.map((column) => column.map(level));
  const means = levels.map(mean);
  const lean = mean(levels.map((column) => (column[0] ?? 0) - (column.at(-1) ?? 0)));
  return 0.47 * (means.at(-1) ?? 0) + 0.21 * mean(means) + 0.05 * lean + 1.3 * row + text;
}

describe("a MusicGen of one layout", () => {
  // Shares of 1 + |score|: 3e-7 and 5e-4 were measured, as float16 has 11 bits.
  test.each<[string, TinyMusicgen, number]>([
    ["a merged decoder", { decoder: "merged" }, 2e-6],
    ["a pair of decoders with weights beside them", { decoder: "split", besides: true }, 2e-6],
    ["a pair of decoders in float16", { decoder: "split", half: true }, 2e-3],
  ])("with %s scores the next codes as its formula does", async (_, tiny, tolerance) => {
    const model = await add(tiny);
    const config: unknown = JSON.parse(await readModelText(model, "config"));
    const settings = parseMusicgenSettings(config, {});
    const roles = Object.keys(model.files).filter((role) =>
      /^decoder(-merged|-with-past)?$/.test(role),
    );
    const thread = await openGraphs({
      graphs: graphPaths(model, roles),
      threads: 1,
      providers: ["cpu"],
    });
    const states = [...PROMPT_IDS, ...PROMPT_IDS.map(() => 0)].flatMap((id) =>
      Array.from({ length: 16 }, (_feature, feature) => (id * (feature + 1)) / 100),
    );
    const shown = [...PROMPT_IDS.map(() => 1), ...PROMPT_IDS.map(() => 0)];
    const decoder = createColumnDecoder(
      thread,
      {
        batch: 2,
        states: float32(Float32Array.from(states), [2, PROMPT_IDS.length, 16]),
        mask: int64Of(shown, [2, PROMPT_IDS.length]),
      },
      settings,
    );
    // Three columns at once, as a window that goes on from the one before begins; then one by one.
    const columns = [
      [64, 64, 64, 64],
      [9, 64, 64, 64],
      [40, 3, 64, 64],
      [21, 60, 12, 64],
      [33, 7, 50, 2],
    ];
    for (const [from, to] of [
      [0, 3],
      [3, 4],
      [4, 5],
    ] as const) {
      const fed = columns.slice(from, to);
      const rows = [0, 1, 2, 3].flatMap((row) => fed.map((column) => column[row] ?? 0));
      const scores = await decoder.feed(rows, fed.length);
      for (const [batchRow, text] of [textOf(PROMPT_IDS), 0].entries())
        for (const codebook of [0, 1, 2, 3]) {
          const start = scores.offsetOf(batchRow, codebook);
          const target = targetOf(columns.slice(0, to), codebook, text);
          const expected = Array.from(
            { length: 64 },
            (_code, code) => -((code - target) ** 2) / 50,
          );
          const share = (it: number, at: number) => it / (1 + Math.abs(expected[at] ?? 0));
          const got = scores.values.slice(start, start + 64).map(share);
          expect(deviation(got, expected.map(share))).toBeLessThan(tolerance);
        }
    }
    decoder.close();
    await thread.close();
  });

  test.each<[string, TinyMusicgen]>([
    ["a merged decoder", { decoder: "merged" }],
    ["a pair of decoders", { decoder: "split" }],
    ["two channels", { decoder: "merged", codebooks: 8, channels: 2 }],
  ])("with %s makes of a prompt, past its window, the sound of its formula", async (_, tiny) => {
    const { codebooks = 4, channels = 1 } = tiny;
    const model = await add({ ...tiny, positions: 60, generation: { do_sample: false } });
    expect(model).toMatchObject({
      modality: "music",
      pipeline: "musicgen",
      shapes: { sampleRateHz: 32_000, frameRateHz: 50, codebooks, channels },
      limits: { maxSeconds: 60 },
    });
    const opened = await openMusicgen(model, { threads: 1 });
    const piece = { prompt: PROMPT, seconds: 75 / 50, seed: 1 };
    let sound: Sound | undefined;
    for await (const event of opened.compose(piece, signal))
      if (event.type === "sound") ({ sound } = event);
    await opened.close();
    const codes = greedyCodes(75, { codebooks, channels });
    const samples = Array.from({ length: channels }, (_channel, channel) =>
      Array.from({ length: 75 * 640 }, (_sample, sample) => {
        const frame = Math.floor(sample / 640);
        const four = [0, 1, 2, 3].map((row) => codes[row * channels + channel]?.[frame] ?? 0);
        return four.reduce((sum, code, row) => sum + ((4 - row) * code) / 640, -0.5);
      }),
    );
    expect(sound).toMatchObject({ channels, sampleRateHz: 32_000 });
    expect(deviation(sound?.samples ?? [], samples.flat())).toBeLessThan(1e-6);
  });

  test.each([
    ["onnx/encodec_decode.onnx", "in any dtype"],
    ["generation_config.json", "it holds the guidance scale"],
  ])("without %s is refused in a sentence", async (file, reason) => {
    const source = join(folder, "sources", reason, "music");
    writeTinyMusicgen(source, { decoder: "merged" });
    await rm(join(source, file));
    const refused = addModel(source, { modelsDir: join(folder, "models") });
    await expect(refused).rejects.toThrow(new RegExp(`^music has no ${file}.*${reason}`));
  });
});

/** Of 60 positions 56 frames; 60 % of a window are new. */
const WINDOW = { frames: 56, overlap: 22 };

/**
 * Codes [row][frame] where uncond + 3 × (cond - uncond) is greatest, window by window: row r begins
 * r / channels columns late, and each window begins with the last frames of the one before. None of these is
 * nearer than 3e-4 to the middle between two codes.
 */
function greedyCodes(
  frames: number,
  { codebooks, channels }: { readonly codebooks: number; readonly channels: number },
): number[][] {
  const codes = Array.from({ length: codebooks }, (): number[] => []);
  const text = textOf(PROMPT_IDS);
  for (let made = 0; made < frames;) {
    const start = Math.max(0, made - WINDOW.overlap);
    made = Math.min(start + WINDOW.frames, frames);
    const fed: number[][] = [];
    for (let column = 0; column < made - start + codebooks / channels; column++) {
      const frameOf = (row: number) => start + column - 1 - Math.floor(row / channels);
      for (const [row, own] of codes.entries()) {
        if (frameOf(row) !== own.length || own.length >= made) continue;
        const likeliest = Math.round(targetOf(fed, row, 3 * text));
        own.push(Math.max(0, Math.min(CODE_COUNT - 1, likeliest)));
      }
      const isPadded = (row: number) => frameOf(row) < start || frameOf(row) >= made;
      fed.push(codes.map((own, row) => (isPadded(row) ? CODE_COUNT : (own[frameOf(row)] ?? NaN))));
    }
  }
  return codes;
}

describe("the music pipeline", () => {
  const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "espeak-ng" };
  let pipeline: Pipeline<MusicRequest, MusicOutput>;
  let context: AdmitContext;

  beforeAll(async () => {
    const model = await add({ decoder: "merged" });
    pipeline = await createMusicPipeline({ modelPath: model.path, threads: 1, ...programs });
    context = {
      model: { ...(await modelInfo(model)), maxSeconds: 60 },
      path: "/v1/music",
      saveInput: () => Promise.reject(new Error("music has no inputs")),
      findEarlier: () => Promise.resolve(undefined),
    };
  });
  afterAll(() => pipeline.close());

  async function make(
    body: object,
    listen: (event: PipelineEvent<MusicOutput>) => void = () => {},
    abort = new AbortController(),
  ) {
    const whole = { ...music.example(), model: context.model.id, ...body };
    const request = await music.admit(whole, context);
    const events: PipelineEvent<MusicOutput>[] = [];
    const readInput = () => Promise.reject(new Error("music has no inputs"));
    const own = { signal: abort.signal, scratchPath: folder, readInput };
    for await (const event of pipeline.run(request, own)) {
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
    const content = contentOf(events);
    expect(content).toMatchObject({ variant: "content", mediaType: "audio/wav" });
    expect(await probeMedia(content.path)).toMatchObject({
      audio: { codec: "pcm_s16le", sampleRateHz: 32_000, channels: 1 },
      durationSeconds: 6,
    });
    expect(events.at(-1)).toEqual({ type: "output", output: { audioSeconds: 6 } });
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
    let steps = 0;
    const listen = () => {
      steps += 1;
      if (steps === 10) abort.abort(new JobError("cancelled", "the caller cancelled"));
    };
    await expect(make({ seconds: 30 }, listen, abort)).rejects.toMatchObject({ code: "cancelled" });
    expect(steps).toBe(10);
    expect(contentOf(await make({})).variant).toBe("content");
  });
});
