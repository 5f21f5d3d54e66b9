import type { Config } from "../../../src/config.js";
import { decodeWindows } from "../../../src/models/wan/decoder.js";
import { denoise, latentDims, planSchedule } from "../../../src/models/wan/denoise.js";
import { openWanModel, type WanModel } from "../../../src/models/wan/model.js";
import { listModelPackages } from "../../../src/runtime/packages/model-package.js";
import type { SuiteOptions } from "../bench.js";
import { type BenchResult, compare, machine, round, timed } from "../report/measure.js";
import { setupFor } from "../service/stack.js";
import { BENCH_REQUEST } from "./clip.js";

const THRESHOLDS = [0.03, 0.05, 0.08, 0.1, 0.12, 0.13, 0.15];
/** Of the time without, at so many decibels or more. */
const MOST_SHARE = 0.7;
const LEAST_DECIBELS = 30;
const WITHOUT = 0;

/** Clips of one seed by each threshold of the first-block cache, beside the one without. */
export async function runFirstBlockCache(
  config: Config,
  rounds: number,
  { model: id }: SuiteOptions,
): Promise<BenchResult> {
  const suite = "first-block-cache";
  const found = (await listModelPackages(config.modelsDir)).find(({ files, ...one }) => {
    return files["first-block"] !== undefined && (id ?? one.id) === one.id;
  });
  if (found === undefined) {
    const why = "needs a Wan package in parts in MODELS_DIR, named by --model";
    return { suite, conditions: machine(), rows: [], unmeasured: [{ what: suite, why }] };
  }
  const roles: string[] = [];
  const setup = { ...setupFor(config, found.path), onRun: (run: Run) => void roles.push(run.role) };
  const model = await openWanModel(found, setup);
  const make = (threshold: number) => makeClip({ model, roles }, threshold);
  try {
    const { frames } = await make(WITHOUT);
    const made = new Map([WITHOUT, ...THRESHOLDS].map((it): [number, Made[]] => [it, []]));
    for (let turn = 0; turn < rounds; turn += 1)
      for (const [threshold, clips] of made) {
        const clip = await make(threshold);
        clips.push({ ...clip, decibels: decibelsOf(clip.frames, frames) });
      }
    const conditions = { ...machine(), threads: setup.threads, model: found.id, rounds };
    return { suite, conditions: { ...conditions, ...factsOf(model) }, ...tablesOf(made) };
  } finally {
    await model.close();
  }
}

interface Run {
  readonly role: string;
}

interface Clip {
  /** From the prompt to the last frame; nothing is encoded. */
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly denoisingSeconds: number;
  /** I420, one after the other. */
  readonly frames: Buffer;
  /** Runs of a transformer of which the remaining blocks were left out, of all. */
  readonly reused: number;
  readonly asked: number;
}

interface Made extends Omit<Clip, "frames"> {
  /** Peak signal-to-noise ratio of the frames beside those without the cache. */
  readonly decibels: number;
}

interface Subject {
  readonly model: WanModel;
  /** Of all runs of its graphs so far. */
  readonly roles: string[];
}

async function makeClip({ model, roles }: Subject, cacheThreshold: number): Promise<Clip> {
  const { settings, scheduler } = model;
  const { signal } = new AbortController();
  const { prompt, negativePrompt, seed, seconds: clipSeconds } = BENCH_REQUEST;
  const sampler = { ...settings.sampler, cacheThreshold };
  const dims = latentDims(settings, BENCH_REQUEST);
  const [height, width] = settings.shapes.native;
  const { frameRate } = settings.shapes;
  const format = { width, height, frameRate, frameCount: clipSeconds * frameRate };
  roles.length = 0;
  const before = process.cpuUsage();
  const made = await timed(async () => {
    const schedule = planSchedule({ settings: { ...settings, sampler }, scheduler });
    const prompts = [
      await model.encodePrompt(prompt),
      await model.encodePrompt(negativePrompt),
    ] as const;
    const denoised = await timed(async () => {
      const steps = denoise({ model, schedule, dims, prompts, seed, signal });
      let next = await steps.next();
      while (next.done !== true) next = await steps.next();
      return next.value;
    });
    const frames: Uint8Array[] = [];
    const decoding = { sample: denoised.value, dims, format, signal, onLaunched: () => {} };
    for await (const window of decodeWindows(model, decoding)) frames.push(window.frames.slice());
    return { denoisingSeconds: denoised.seconds, frames: Buffer.concat(frames) };
  });
  const { user, system } = process.cpuUsage(before);
  const count = (name: string) => roles.filter((role) => role.startsWith(name)).length;
  const runs = { reused: count("head"), asked: count("first-block") };
  return { seconds: made.seconds, cpuSeconds: (user + system) / 1e6, ...made.value, ...runs };
}

function decibelsOf(frames: Uint8Array, without: Uint8Array): number {
  const squares = frames.reduce((sum, value, at) => sum + (value - (without[at] ?? 0)) ** 2, 0);
  return 10 * Math.log10(255 ** 2 / (squares / frames.length));
}

function factsOf({ settings, scheduler }: WanModel): BenchResult["conditions"] {
  const [channels, frames, rows, columns] = latentDims(settings, BENCH_REQUEST);
  return {
    scheduler: scheduler.className,
    steps: settings.sampler.steps,
    guidance: settings.sampler.guidance.join(", "),
    latents: [channels, frames, rows, columns].join(" × "),
  };
}

type Tables = Pick<BenchResult, "rows" | "counts" | "unmeasured">;

function tablesOf(made: ReadonlyMap<number, readonly Made[]>): Tables {
  const without = made.get(WITHOUT) ?? [];
  const beside = (what: string, clips: readonly Made[], of: (clip: Made) => number) =>
    compare(
      { what: `${what} / without`, unit: "s", target: null },
      clips.map((clip, turn) => ({ ours: of(clip), against: of(without[turn] ?? clip) })),
    );
  const lines = [...made].map(([threshold, clips]) => ({
    threshold,
    clip: beside(`threshold ${threshold}: clip`, clips, ({ seconds }) => seconds),
    cpu: beside(`threshold ${threshold}: CPU`, clips, ({ cpuSeconds }) => cpuSeconds),
    denoising: beside(`threshold ${threshold}: denoising`, clips, (clip) => clip.denoisingSeconds),
    decibels: clips[0]?.decibels ?? Number.NaN,
    leftOut: `${clips[0]?.reused} of ${clips[0]?.asked}`,
  }));
  const [best] = lines
    // The same frames are those of which nothing was left out.
    .filter(({ decibels }) => Number.isFinite(decibels) && decibels >= LEAST_DECIBELS)
    .toSorted((one, other) => one.clip.ratio - other.clip.ratio);
  const goal = `the fastest of ${LEAST_DECIBELS} dB or more: clip / without`;
  const judged = best && {
    ...best.clip,
    what: `threshold ${best.threshold}, ${goal}`,
    target: MOST_SHARE,
  };
  return {
    rows: [
      ...lines.flatMap(({ clip, cpu, denoising }) => [clip, cpu, denoising]),
      ...(judged ? [judged] : []),
    ],
    counts: lines.map(({ threshold, clip, cpu, denoising, decibels, leftOut }) => ({
      threshold,
      "clip / without": clip.ratio,
      "CPU / without": cpu.ratio,
      "denoising / without": denoising.ratio,
      "PSNR, dB": Number.isFinite(decibels) ? round(decibels) : "the same frames",
      "runs left out": leftOut,
    })),
    unmeasured: judged ? [] : [{ what: goal, why: "no threshold keeps as much" }],
  };
}
