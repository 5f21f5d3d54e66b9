import { z } from "zod";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";
import { hashedNgramSettings } from "../tokenizer/hashed-ngrams.js";

const count = z.int().nonnegative();
const draw = z.object({ temperature: z.number().positive(), least: z.number().min(0).max(1) });

const part = z.object({
  name: z.string(),
  /** Number of the track whose player sounds it. */
  track: count,
  /** -1 is left, 1 is right. */
  pan: z.number().min(-1).max(1),
  /** MIDI number of the first pitch token in C; drum voices have `sounds` instead. */
  lowestNote: count.optional(),
  /** Sounds of the tokens from 1 on, of a drum voice. */
  sounds: z.array(count).optional(),
});

/** `shapes` of a package whose music is written step by step and played by a synthesiser. */
const scoreShapes = z.object({
  sampleRateHz: z.int().positive(),
  synthesiser: z.object({ windowSamples: z.int().positive(), noiseContextSamples: count }),
  room: z.object({ windowSamples: z.int().positive(), contextSamples: count }),
  /** Tempo bin i is lowestBpm × e^(i × binLog); the networks read it in steps of paceLog. */
  tempo: z.object({
    lowestBpm: z.number().positive(),
    binLog: z.number().positive(),
    paceLog: z.number().positive(),
    paces: z.int().positive(),
  }),
  /** Beats of a bar by the prompt reader's `meter`. */
  beats: z.array(z.int().positive()).min(1),
  stepsPerBeat: z.int().positive(),
  tracks: z.array(z.string()),
  /** Voices in the order in which a step is written. */
  parts: z.array(part).min(1),
  /** How many bars ago a bar was first played, by its token. */
  repeats: z.array(count),
  barLags: z.array(z.int().positive()),
  stepLags: z.array(z.int().positive()),
  tokens: z.object({
    held: count,
    stop: count,
    firstPitch: count,
    noStep: count,
    noBar: count,
    noChord: count,
    /** Most steps that an age counts. */
    oldest: count,
  }),
  /** How long each sound goes on after its note's end. */
  tailSeconds: z.array(z.number().nonnegative()),
});

const sampler = z.object({
  promptTemperature: z.number().positive(),
  arranger: draw,
  planner: draw,
  composer: draw,
});

type ScoreShapes = z.infer<typeof scoreShapes>;
export type ScorePart = z.infer<typeof part>;
/** How tokens are drawn: those less likely than `least` times the likeliest are left out. */
export type DrawSettings = z.infer<typeof draw>;

export interface ScoreSettings extends ScoreShapes {
  readonly tokenizer: z.infer<typeof hashedNgramSettings>;
  readonly sampler: z.infer<typeof sampler>;
  /** Most bars of a piece. */
  readonly mostBars: number;
}

const packageSettings = z.object({
  shapes: scoreShapes,
  tokenizer: hashedNgramSettings,
  sampler,
  limits: z.object({ bars: z.int().positive() }),
});

/** What the pipeline must know of a package. Throws an error that names the field. */
export function parseScoreSettings(model: ModelPackage): ScoreSettings {
  const { shapes, limits, ...rest } = parseSettings(
    packageSettings,
    model,
    `${model.path}/model.json`,
  );
  return { ...shapes, ...rest, mostBars: limits.bars };
}
