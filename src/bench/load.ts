import { setMaxListeners } from "node:events";
import { poissonArrivals } from "./arrivals.js";
import { closedLoop, type Drive, openLoop, type Send } from "./drive.js";
import {
  type BenchResult,
  type BenchRow,
  type Distribution,
  distribute,
  machine,
  round,
  type Series,
} from "./measure.js";

/** One kind of request that the service is loaded with. */
export interface LoadKind {
  readonly name: string;
  readonly send: Send;
  /** How long each job of this kind was queued that was accepted since then, in milliseconds. */
  readonly waitsMs: (sinceUnixMs: number, atMost: number) => Promise<readonly number[]>;
  /** Seconds within which a request should end. */
  readonly objectiveSeconds: number;
  /** Numbers of clients of the closed loop; the last one's throughput counts as the capacity. */
  readonly clients: readonly number[];
  /** Rates of the open loop as shares of that capacity. */
  readonly rates: readonly number[];
  /** For how long each level sends, and how many requests at most. */
  readonly windowMs: number;
  readonly count: number;
  /** What has not ended so long after the window counts as failed, in milliseconds. */
  readonly graceMs: number;
}

export interface LoadSetup {
  readonly kinds: readonly LoadKind[];
  /** Names of broker and database. */
  readonly parts: string;
  readonly seed: number;
}

/** One rate or number of clients, measured. */
interface Level extends Drive {
  readonly name: string;
  readonly offered: number | null;
  readonly waitsMs: readonly number[];
}

/** The whole service over HTTP under clients that wait for their answers, then under Poisson arrivals. */
export async function benchLoad({ kinds, parts, seed }: LoadSetup): Promise<BenchResult> {
  const rows: BenchRow[] = [];
  const distributions: Distribution[] = [];
  const series: Series[] = [];
  for (const kind of kinds) {
    const levels = await measureKind(kind, seed);
    rows.push(...levels.flatMap((level) => rowsOf(kind, level)));
    distributions.push(...levels.flatMap(distributionsOf));
    series.push(...seriesOf(kind, levels));
  }
  const objectives = Object.fromEntries(
    kinds.map(({ name, objectiveSeconds }) => [`objective of ${name}`, `${objectiveSeconds} s`]),
  );
  const conditions = { ...machine(), parts, "client, front and worker": "one machine", seed };
  return {
    suite: "load",
    conditions: { ...conditions, ...objectives },
    rows,
    distributions,
    series,
  };
}

async function measureKind(kind: LoadKind, seed: number): Promise<Level[]> {
  const { name, count, clients, rates, windowMs } = kind;
  await kind.send(0, AbortSignal.timeout(kind.graceMs));
  const levels: Level[] = [];
  let capacity = 0;
  for (const many of clients) {
    const level = await measureLevel(kind, `${name}, ${many} clients`, null, (signal) =>
      closedLoop(kind.send, { clients: many, count, windowMs }, signal),
    );
    levels.push(level);
    capacity = level.outcomes.filter(({ isAnswered }) => isAnswered).length / level.seconds;
  }
  if (capacity === 0) throw new Error(`${name}: no request of the closed loop was answered`);
  for (const share of rates) {
    const offered = round(share * capacity);
    const [first = 0, ...others] = poissonArrivals(offered, count, seed);
    const arrivals = [0, ...others.map((atMs) => atMs - first).filter((atMs) => atMs <= windowMs)];
    levels.push(
      await measureLevel(kind, `${name}, ${offered}/s offered`, offered, (signal) =>
        openLoop(kind.send, arrivals, signal),
      ),
    );
  }
  return levels;
}

async function measureLevel(
  kind: LoadKind,
  name: string,
  offered: number | null,
  drive: (signal: AbortSignal) => Promise<Drive>,
): Promise<Level> {
  const since = Date.now();
  const signal = AbortSignal.timeout(kind.windowMs + kind.graceMs);
  setMaxListeners(0, signal);
  const driven = await drive(signal);
  const waitsMs = await kind.waitsMs(since, driven.outcomes.length);
  return { name, offered, ...driven, waitsMs };
}

/** Throughput, and goodput: what ended well within the objective. */
function rowsOf({ objectiveSeconds }: LoadKind, level: Level): BenchRow[] {
  const { name, outcomes, seconds } = level;
  const answered = outcomes.filter(({ isAnswered }) => isAnswered);
  const good = goodOf(level, objectiveSeconds);
  const row = (what: string, ours: number, against: number) => ({
    what: `${name}: ${what}`,
    ours: round(ours / seconds),
    against: round(against / seconds),
    unit: "1/s",
    ratio: round(ours / against),
    target: null,
    noise: null,
  });
  return [
    row("answered / sent", answered.length, outcomes.length),
    row(`goodput within ${objectiveSeconds} s / sent`, good, outcomes.length),
  ];
}

function goodOf({ outcomes }: Drive, objectiveSeconds: number): number {
  return outcomes.filter(
    ({ isAnswered, latencyMs }) => isAnswered && latencyMs <= objectiveSeconds * 1_000,
  ).length;
}

function latencies({ outcomes }: Drive): number[] {
  return outcomes.filter(({ isAnswered }) => isAnswered).map(({ latencyMs }) => latencyMs);
}

function distributionsOf(level: Level): Distribution[] {
  const { name, waitsMs } = level;
  return [
    distribute({ what: `${name}: queued until started`, unit: "ms" }, waitsMs),
    distribute({ what: `${name}: end to end`, unit: "ms" }, latencies(level)),
  ].filter(({ count }) => count > 0);
}

/** Latency and goodput over the offered rate. */
function seriesOf({ name, objectiveSeconds }: LoadKind, levels: readonly Level[]): Series[] {
  const open = levels.flatMap((level) => {
    if (level.offered === null || latencies(level).length === 0) return [];
    const { p50, p99 } = distribute({ what: "", unit: "ms" }, latencies(level));
    const share = goodOf(level, objectiveSeconds) / level.outcomes.length;
    return [{ offered: level.offered, p50, p99, share }];
  });
  const xLabel = `${name} offered, 1/s`;
  const line = (label: string, yLabel: string, pick: (level: (typeof open)[number]) => number) => ({
    name: label,
    xLabel,
    yLabel,
    points: open.map((level) => [level.offered, pick(level)] as const),
  });
  const latency = `${name} from due to done, ms`;
  return [
    line("p50", latency, ({ p50 }) => p50),
    line("p99", latency, ({ p99 }) => p99),
    line(`within ${objectiveSeconds} s`, "share of what was sent", ({ share }) => share),
  ];
}
