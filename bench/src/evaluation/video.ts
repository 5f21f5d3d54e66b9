import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { runFfmpeg } from "../../../src/media/ffmpeg.js";
import { createPowerSpectrum } from "../../../src/media/power-spectrum.js";
import type { Graphs } from "../../../src/runtime/ort/graphs.js";
import { float32, floatsOf } from "../../../src/runtime/tensors/tensor.js";
import {
  type Evaluate,
  type EvaluationContext,
  mean,
  type Measures,
  readCases,
  rounded,
} from "./evaluator.js";
import {
  distanceFromStandardNormal,
  type Found,
  probeEach,
  readLogits,
  shareFound,
  shareUnheard,
} from "./probe.js";

const prompt = z.object({
  /**
   * grammar: the training grammar's, unseen: words it never uses, still: nothing moves, sound: heard,
   * everyday: as a stranger types them, outside: of what the model does not know, for the eye alone.
   */
  set: z.enum(["grammar", "unseen", "still", "sound", "everyday", "outside"]),
  prompt: z.string(),
  seed: z.int(),
  /** Attribute to value, as far as the prompt states it; of set sound the kind of sound. */
  stated: z.record(z.string(), z.string()),
  /** Nothing moves in the upper quarter. */
  still: z.boolean().default(false),
  /** Attributes whose word no training ever held. */
  unheard: z.array(z.string()).default([]),
});
const judges = z.object({
  /** Values of each attribute, in the order of the probe's logits. */
  attributes: z.record(z.string(), z.array(z.string())),
  /** Signature of each kind of sound. */
  sounds: z.record(z.string(), z.array(z.number())),
});

type Prompt = z.infer<typeof prompt>;
type Judges = z.infer<typeof judges>;

interface Seen extends Prompt {
  /** What the probe found. */
  readonly found: Found["found"];
  readonly features: Float32Array;
  readonly flicker: number | undefined;
  readonly sound: string | undefined;
}

const SECONDS = 4;
/** How much of a limit each set uses: a cut evaluation is mostly of what noise must fail. */
const SETS: readonly { set: Prompt["set"]; most: (limit: number) => number }[] = [
  { set: "grammar", most: (limit) => limit },
  { set: "unseen", most: (limit) => Math.ceil(limit / 2) },
  { set: "still", most: (limit) => Math.floor(limit / 6) },
  { set: "sound", most: (limit) => Math.ceil(limit / 3) },
  { set: "everyday", most: (limit) => Math.ceil(limit / 3) },
];

/**
 * Share of the stated attributes that a probe finds in the frames of the MP4, for prompts of the training
 * grammar, for words that it never used and for everyday prompts; distance of the probe's features to rendered clips; flicker
 * of still areas; share of sound beds that are most like their kind.
 */
export const evaluateVideo: Evaluate = async (context) => {
  const { folder, limit } = context;
  const all = [
    ...(await readCases([folder, "prompts.jsonl"], prompt)),
    ...(await readCases([folder, "everyday.jsonl"], prompt)),
  ];
  const cases = SETS.flatMap(({ set, most }) =>
    all.filter((one) => one.set === set).slice(0, most(limit)),
  );
  const known = judges.parse(JSON.parse(await readFile(join(folder, "judges.json"), "utf8")));
  const seen = await probeEach(context, cases, async (one, probe) => {
    return await makeAndSee(one, { context, probe, known });
  });
  return measuresOf(seen, known);
};

interface Judging {
  readonly context: EvaluationContext;
  readonly probe: Graphs;
  readonly known: Judges;
}

async function makeAndSee(one: Prompt, { context, probe, known }: Judging): Promise<Seen> {
  const made = await context.make({
    model: context.model.id,
    prompt: one.prompt,
    seconds: SECONDS,
    seed: one.seed,
    quality: one.set === "sound" ? "standard" : "fast",
  });
  const path = made.files.get("content");
  if (path === undefined) throw new Error(`no clip was made of: ${one.prompt}`);
  const frames = float32(await readSeenFrames(path, context), [
    1,
    SEEN.shares.length,
    3,
    SEEN.height,
    SEEN.width,
  ]);
  const outputs = await probe.run("probe", { frames });
  const signature = one.set === "sound" ? await readSoundSignature(path, context) : undefined;
  return {
    ...one,
    found: readLogits(floatsOf(outputs, "logits"), known.attributes),
    features: floatsOf(outputs, "features").slice(),
    flicker: one.still ? await measureFlicker(path, context) : undefined,
    sound: signature && nearest(signature, known.sounds),
  };
}

function nearest(signature: readonly number[], sounds: Judges["sounds"]): string {
  const distances = Object.entries(sounds).map(([kind, reference]) => {
    const away = reference.map((value, index) => (value - (signature[index] ?? 0)) ** 2);
    return { kind, away: mean(away) };
  });
  return distances.toSorted((a, b) => a.away - b.away)[0]?.kind ?? "";
}

function measuresOf(seen: readonly Seen[], { attributes }: Judges): Measures {
  const of = (set: Prompt["set"]) => seen.filter((one) => one.set === set);
  const shares = Object.keys(attributes).map(
    (name) => [name, shareFound(of("grammar"), name)] as const,
  );
  const unseen = ["subject", "setting", "colour"].map(
    (name) => [`unseen ${name}`, shareFound(of("unseen"), name)] as const,
  );
  const everyday = ["subject", "motion", "setting"].map(
    (name) => [`everyday ${name}`, shareFound(of("everyday"), name)] as const,
  );
  const sounds = of("sound").map(({ stated, sound }) => (stated["sound"] === sound ? 1 : 0));
  const judged = [...of("grammar"), ...of("unseen")].map(({ features }) => features);
  return {
    ...Object.fromEntries([...shares, ...unseen, ...everyday]),
    "unheard words": shareUnheard(of("unseen")),
    frechet: rounded(distanceFromStandardNormal(judged)),
    flicker: rounded(mean(seen.flatMap(({ flicker }) => flicker ?? []))),
    sound: rounded(mean(sounds)),
  };
}

/** What the probe sees of a clip: six small frames at these shares of its length. */
const SEEN = {
  height: 144,
  width: 256,
  shares: [0.02, 0.21, 0.4, 0.6, 0.79, 0.98],
} as const;

/** The shown frames of a clip, RGB in 0..1 [6, 3, 144, 256]. */
async function readSeenFrames(path: string, context: EvaluationContext): Promise<Float32Array> {
  const { height, width, shares } = SEEN;
  const scale = `scale=${width}:${height}:flags=area`;
  const bytes = await decode(path, [scale, "format=rgb24"], context);
  const size = height * width * 3;
  const count = Math.floor(bytes.length / size);
  const seen = new Float32Array(shares.length * size);
  for (const [index, share] of shares.entries()) {
    const from = Math.min(count - 1, Math.round(share * count)) * size;
    for (let at = 0; at < size; at++) {
      // From [row, column, colour] to [colour, row, column].
      const to = (at % 3) * height * width + Math.floor(at / 3);
      seen[index * size + to] = (bytes[from + at] ?? 0) / 255;
    }
  }
  return seen;
}

/** Mean change of luma between neighbouring frames in the upper quarter of a clip, of 255. */
async function measureFlicker(path: string, context: EvaluationContext): Promise<number> {
  const bytes = await decode(path, ["crop=iw:ih/4:0:0", "format=gray"], context);
  const size = 1280 * 180;
  const changes: number[] = [];
  for (let frame = size; frame + size <= bytes.length; frame += size) {
    let total = 0;
    for (let at = frame; at < frame + size; at++) {
      total += Math.abs((bytes[at] ?? 0) - (bytes[at - size] ?? 0));
    }
    changes.push(total / size);
  }
  return mean(changes);
}

async function decode(
  path: string,
  filters: readonly string[],
  { ffmpegPath, signal }: EvaluationContext,
): Promise<Uint8Array> {
  const args = ["-v", "error", "-i", path, "-vf", filters.join(), "-f", "rawvideo", "-"];
  const limits = { timeoutMs: 120_000, stdoutLimitBytes: 128 * 1024 * 1024 };
  return (await runFfmpeg(args, { ffmpegPath, signal, ...limits })).stdout;
}

const RATE_HZ = 48_000;
const FRAME = 4_000;
const BANDS = 24;
const LOWEST_HZ = 50;
const HIGHEST_HZ = 16_000;
const FLOOR_DB = -70;

/**
 * What a clip's sound is like [48]: mean level of 24 bands, in dB about their own mean, then how much each
 * moves. `train/sound_kinds.py` of the package computes its references the same way.
 */
async function readSoundSignature(
  path: string,
  { ffmpegPath, signal }: EvaluationContext,
): Promise<number[]> {
  const args = ["-v", "error", "-i", path, "-ac", "1", "-ar", `${RATE_HZ}`, "-f", "f32le", "-"];
  const { stdout } = await runFfmpeg(args, { ffmpegPath, signal });
  const samples = new Float32Array(Uint8Array.from(stdout).buffer);
  return soundSignature(samples);
}

/** Samples: mono, 48 kHz. */
function soundSignature(samples: Float32Array): number[] {
  const levels = frameLevels(samples);
  const means = levels.map((row) => averageOf(row));
  const middle = averageOf(means);
  const moves = levels.map((row, band) =>
    Math.sqrt(averageOf(row.map((value) => (value - (means[band] ?? 0)) ** 2))),
  );
  return [...means.map((value) => value - middle), ...moves];
}

/** Level of each band [24] in each frame, dB. */
function frameLevels(samples: Float32Array): number[][] {
  const spectrum = createPowerSpectrum(FRAME);
  const powers = new Float64Array(FRAME / 2 + 1);
  const levels: number[][] = Array.from({ length: BANDS }, () => []);
  for (let start = 0; start + FRAME <= samples.length; start += FRAME) {
    const frame = Float64Array.from({ length: FRAME }, (_, at) => {
      const window = 0.5 - 0.5 * Math.cos((2 * Math.PI * (at + 0.5)) / FRAME);
      return (samples[start + at] ?? 0) * window;
    });
    spectrum(frame, powers);
    for (const [band, level] of levels.entries()) level.push(bandLevel(powers, band));
  }
  return levels;
}

function bandLevel(powers: Float64Array, band: number): number {
  const from = Math.floor((edgeHz(band) / RATE_HZ) * FRAME);
  const to = Math.max(from + 1, Math.floor((edgeHz(band + 1) / RATE_HZ) * FRAME));
  let power = 0;
  for (let bin = from; bin < to; bin++) power += powers[bin] ?? 0;
  return Math.max(FLOOR_DB, 10 * Math.log10(power / (to - from) + 1e-12));
}

function edgeHz(edge: number): number {
  return LOWEST_HZ * (HIGHEST_HZ / LOWEST_HZ) ** (edge / BANDS);
}

function averageOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
