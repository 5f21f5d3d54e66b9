import type { Config } from "../../../src/config.js";
import { readPriceTable } from "../../../src/front/ledger/index.js";
import { findModality } from "../../../src/modalities/registry.js";
import type { SuiteOptions } from "../bench.js";
import { setupsOf } from "../service/stack.js";
import {
  type BenchResult,
  type BenchRow,
  compare,
  distribute,
  type Distribution,
  machine,
} from "../report/measure.js";
import {
  DOLLARS_PER_HOUR,
  costRow,
  coveredMs,
  type MadeRun,
  openSubject,
  peakMemory,
  type PipelineSubject,
  rowOf,
  stageTimes,
  tailMs,
  wallMs,
} from "./pipeline-runs.js";

interface PictureCase {
  readonly name: string;
  readonly n: number;
  readonly megapixels: number;
  readonly body: Record<string, unknown>;
}

const PROMPT = "a red boat sails across the ocean at sunset";

/** The sizes that are sold, two pictures of one request, and the other format. */
const CASES = {
  square: pictureCase("1024x1024", { size: "1024x1024" }),
  wide: pictureCase("1536x1024", { size: "1536x1024" }),
  two: pictureCase("1024x1024, two", { size: "1024x1024", n: 2 }),
  webp: pictureCase("1024x1024, WebP", { size: "1024x1024", output_format: "webp" }),
} as const;

const STAGES = {
  before: "prompt read",
  between: "scheduler, guidance, files before the last",
  after: "pixels to file",
};

/**
 * Whole pictures through the model's own pipeline, against the time in its graphs. Needs an image model in
 * MODELS_DIR that makes the sizes of the starter.
 */
export async function runImage(
  config: Config,
  rounds: number,
  { dollarsPerHour = DOLLARS_PER_HOUR }: SuiteOptions,
): Promise<BenchResult> {
  const setup = (await setupsOf(config))("image");
  const modality = findModality("image");
  if (setup === undefined || modality === undefined)
    throw new Error(`MODELS_DIR ${config.modelsDir} has no image model`);
  const prices = await readPriceTable(config.pricesFile);
  const subject = await openSubject({ modality, setup, prices });
  try {
    await subject.make(CASES.square.body);
    const memory = await peakMemory("first picture", setup.providers);
    const made = await makeAll(subject, rounds);
    return {
      suite: "image",
      conditions: {
        ...machine(),
        threads: setup.threads,
        model: subject.modelId,
        rounds,
        "dollars an hour": dollarsPerHour,
        ...memory,
      },
      rows: rowsOf(made, dollarsPerHour),
      distributions: Object.values(CASES).flatMap((one) => timesOf(one, made.get(one) ?? [])),
    };
  } finally {
    await subject.close();
  }
}

function pictureCase(name: string, own: { size: string; n?: number; output_format?: string }) {
  const [width = 0, height = 0] = own.size.split("x").map(Number);
  const n = own.n ?? 1;
  const body = { prompt: PROMPT, seed: 1, ...own };
  return { name, n, megapixels: (width * height * n) / 1e6, body } satisfies PictureCase;
}

/** The cases in turn, so that what else the machine does meets all of them. */
async function makeAll(subject: PipelineSubject, rounds: number) {
  const made = new Map<PictureCase, MadeRun[]>(Object.values(CASES).map((one) => [one, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const [one, runs] of made) runs.push(await subject.make(one.body));
  return made;
}

function rowsOf(
  made: ReadonlyMap<PictureCase, readonly MadeRun[]>,
  dollarsPerHour: number,
): BenchRow[] {
  const runsOf = (one: PictureCase) => made.get(one) ?? [];
  const { square, wide, two, webp } = CASES;
  const against = (
    what: string,
    [one, other]: readonly [PictureCase, PictureCase],
    of: typeof perMegapixel,
  ) =>
    compare(
      { what, unit: "s", target: null },
      runsOf(one).map((run, round) => ({
        ours: of(one, run),
        against: of(other, runsOf(other)[round] ?? run),
      })),
    );
  const inGraphs = [square, wide].map((one) =>
    rowOf(`${one.name}: wall / (its session.run time + file)`, "s", runsOf(one), (run) => [
      wallMs(run) / 1_000,
      (coveredMs(run.runs) + tailMs(run)) / 1_000,
    ]),
  );
  return [
    ...inGraphs,
    against("a megapixel of 1536x1024 / of 1024x1024", [wide, square], perMegapixel),
    against("a picture of two / alone", [two, square], perPicture),
    against("a WebP picture / a PNG one", [webp, square], perPicture),
    ...[square, wide].map((one) =>
      costRow(`${one.name}: compute a picture / price`, runsOf(one), {
        dollarsPerHour,
        unitsOf: () => one.n,
      }),
    ),
  ];
}

function perMegapixel({ megapixels }: PictureCase, run: MadeRun): number {
  return wallMs(run) / 1_000 / megapixels;
}

function perPicture({ n }: PictureCase, run: MadeRun): number {
  return wallMs(run) / 1_000 / n;
}

function timesOf(one: PictureCase, runs: readonly MadeRun[]): Distribution[] {
  const each = (unit: string, of: (run: MadeRun) => number) =>
    distribute({ what: `${one.name}: ${unit}`, unit }, runs.map(of));
  return [
    ...stageTimes(one.name, STAGES, runs),
    each("s a megapixel", (run) => perMegapixel(one, run)),
    each("pictures a second", (run) => 1 / perPicture(one, run)),
  ];
}
