import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { printTable } from "../../src/bin/commands/table.js";
import { UsageError } from "../../src/bin/option-values.js";
import type { Config } from "../../src/config.js";
import { messageOf } from "../../src/core/errors.js";
import type { BenchResult, BenchRow, TableRow } from "./report/measure.js";
import { drawPlot, drawVerdicts } from "./report/plot.js";
import {
  changeOf,
  closingTable,
  distributionCells,
  type EarlierRow,
  factsOf,
  readEarlier,
  rowCells,
  type SuiteEnd,
  toMarkdown,
} from "./report/report.js";

export interface BenchOptions extends SuiteOptions {
  /** Folder for JSON and SVG of each suite, and for the summary. */
  readonly out: string;
  /** Repetitions; three where absent, two of a quick run. */
  readonly rounds?: number;
  /** JSON of an earlier run, or a folder of such. */
  readonly compare?: string;
  /** Take the in-process broker and the embedded database whatever the environment says. */
  readonly embedded?: boolean;
}

const ROUNDS = 3;
const QUICK_ROUNDS = 2;

/**
 * Runs suites one after the other; prints conditions, ratios and verdicts, writes JSON, SVG and a
 * summary. A suite that throws leaves the others alone and makes the exit code 1.
 */
export async function bench(
  names: readonly string[],
  options: BenchOptions,
  config: Config,
): Promise<void> {
  const chosen = chooseSuites(names);
  const { amqpUrl: _broker, databaseUrl: _database, ...embedded } = config;
  const conditions = options.embedded === true ? embedded : config;
  await mkdir(options.out, { recursive: true });
  const ends: SuiteEnd[] = [];
  for (const suite of chosen) {
    const end = await endOf(suite, options, conditions);
    await report(end, options);
    ends.push(end);
  }
  await close(ends, options.out);
  if (ends.some(({ failure }) => failure !== undefined)) process.exitCode = 1;
}

/** The named suites once each; `all`, or no name, means those that ask for nothing. */
function chooseSuites(names: readonly string[]): string[] {
  const known = Object.keys(SUITES);
  const all = known.filter((name) => !ON_REQUEST.has(name));
  const chosen = (names.length === 0 ? ["all"] : names).flatMap((name) =>
    name === "all" ? all : [name],
  );
  const unknown = chosen.find((name) => !known.includes(name));
  if (unknown === undefined) return [...new Set(chosen)];
  throw new UsageError(`there is no suite ${unknown}: give some of all, ${known.join(", ")}`);
}

async function endOf(suite: string, options: BenchOptions, config: Config): Promise<SuiteEnd> {
  const rounds = options.rounds ?? (options.quick === true ? QUICK_ROUNDS : ROUNDS);
  try {
    const result = await SUITES[suite]?.(config, rounds, options);
    return result === undefined ? { suite } : { suite, result };
  } catch (thrown) {
    return { suite, failure: messageOf(thrown) };
  }
}

async function report({ suite, result, failure }: SuiteEnd, options: BenchOptions): Promise<void> {
  if (result === undefined) {
    process.stdout.write(`\n${suite} failed: ${failure ?? "it gave nothing"}\n`);
    return;
  }
  await print(result, options.compare);
  const path = join(options.out, suite);
  await writeFile(`${path}.json`, `${JSON.stringify(result, null, 2)}\n`);
  const { series = [] } = result;
  if (series.length > 0) await writeFile(`${path}.svg`, await drawPlot(suite, series));
}

async function print(result: BenchResult, earlier: string | undefined): Promise<void> {
  const { suite, rows, counts = [], distributions = [], unmeasured = [] } = result;
  const before = earlier === undefined ? [] : await readEarlier(earlier, suite);
  process.stdout.write(`\n${suite} (${factsOf(result)})\n`);
  printTable(rows.map((row) => cellsBeside(row, before)));
  for (const table of [counts, distributions.map(distributionCells)]) {
    if (table.length > 0) process.stdout.write("\n");
    printTable(table);
  }
  for (const { what, why } of unmeasured) process.stdout.write(`${what}: not measured, ${why}\n`);
}

function cellsBeside(row: BenchRow, before: readonly EarlierRow[]): TableRow {
  const cells = rowCells(row);
  return before.length === 0 ? cells : { ...cells, "now / then": changeOf(row, before) };
}

/** What all suites say of their targets, as one table, one picture and Markdown. */
async function close(ends: readonly SuiteEnd[], out: string): Promise<void> {
  process.stdout.write("\n");
  printTable(closingTable(ends));
  await writeFile(join(out, "summary.md"), toMarkdown(ends));
  const rows = ends.flatMap(({ result }) => result?.rows ?? []);
  await writeFile(join(out, "summary.svg"), await drawVerdicts(rows));
  process.stdout.write(
    `\nwritten to ${out}: JSON and SVG of each suite, summary.md, summary.svg\n`,
  );
}

/** What the command line says beside the number of rounds; a suite takes what concerns it. */
export interface SuiteOptions {
  /** Few and short: a look, not a measurement to be published. */
  readonly quick?: boolean;
  /** Seconds within which a clip of the load suite should end. */
  readonly objective?: number;
  /** The same for what is answered at once. */
  readonly replyObjective?: number;
  /** What an hour of the machine costs. */
  readonly dollarsPerHour?: number;
  /** Model of a suite that is told which. */
  readonly model?: string;
  /** File of prompts, one a line, for a suite that takes them. */
  readonly prompts?: string;
  /** Folders of published models that transformers.js opens as well. */
  readonly peerModels?: readonly string[];
  /** Folder of the programs that peers holds Framemill against. */
  readonly peers?: string;
  /** Groups of rows that peers measures; all where absent. */
  readonly only?: readonly string[];
  /** A built checkout that runtime holds this one against. */
  readonly against?: string;
}

type Suite = (config: Config, rounds: number, options: SuiteOptions) => Promise<BenchResult>;

/** Suites that `all` leaves out: they need what this repository does not bring. */
const ON_REQUEST: ReadonlySet<string> = new Set([
  "first-block-cache",
  "mlperf-video",
  "peers",
  "runtime",
]);

/** Name → how it is measured; loaded with what it measures when it runs. */
const SUITES: Readonly<Record<string, Suite>> = {
  media: lazy(async () => (await import("./suites/media.js")).runMedia),
  video: lazy(async () => (await import("./suites/video.js")).runVideo),
  live: lazy(async () => (await import("./suites/live.js")).runLive),
  text: lazy(async () => (await import("./text/index.js")).runText),
  queue: lazy(async () => (await import("./suites/queue.js")).runQueue),
  load: lazy(async () => (await import("./suites/load.js")).runLoad),
  "first-block-cache": lazy(
    async () => (await import("./suites/first-block-cache.js")).runFirstBlockCache,
  ),
  "mlperf-video": lazy(async () => (await import("./suites/mlperf-video.js")).runMlperfVideo),
  cold: lazy(async () => (await import("./suites/cold.js")).runCold),
  image: lazy(async () => (await import("./suites/image.js")).runImage),
  audio: lazy(async () => (await import("./suites/audio.js")).runAudio),
  provenance: lazy(async () => (await import("./suites/provenance.js")).runProvenance),
  peers: lazy(async () => (await import("./peers/index.js")).runPeers),
  runtime: lazy(async () => (await import("./suites/runtime.js")).runRuntime),
  soak: lazy(async () => (await import("./suites/soak.js")).runSoak),
};

function lazy(load: () => Promise<Suite>): Suite {
  return async (...run) => (await load())(...run);
}
