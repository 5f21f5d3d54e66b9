import { setMaxListeners } from "node:events";
import {
  type BenchResult,
  type BenchRow,
  distribute,
  type Distribution,
  machine,
  round,
  type Series,
  type TableRow,
  type Unmeasured,
} from "../report/measure.js";
import { arrivalsWithin, closedLoop, type Drive, type End, openLoop, type Send } from "./drive.js";

/** One kind of request that the service is loaded with. */
export interface LoadKind {
  readonly name: string;
  readonly send: Send;
  /** Lets go of what was given up, until the service has nothing in its hands. */
  readonly settle: () => Promise<void>;
  /** How long each job of this kind was queued that was accepted since then, in milliseconds. */
  readonly waitsMs: (sinceUnixMs: number, atMost: number) => Promise<readonly number[]>;
  /** Seconds within which a request should end. */
  readonly objectiveSeconds: number;
  readonly closed: ClosedLevels;
  readonly open: OpenLevels;
  /** How long after the last one may be sent answers are waited for, in milliseconds. */
  readonly graceMs: number;
}

export interface ClosedLevels {
  /** Numbers of clients; the last one's throughput counts as the capacity. */
  readonly clients: readonly number[];
  /** For how long each level sends. */
  readonly windowMs: number;
}

export interface OpenLevels {
  /** Rates as shares of the capacity. */
  readonly rates: readonly number[];
  readonly windowMs: number;
}

export interface LoadSetup {
  readonly kinds: readonly LoadKind[];
  /** Names of broker and database. */
  readonly parts: string;
  readonly seed: number;
  /** Hears what is about to be measured, and how many levels are behind. */
  readonly onLevel: (name: string, done: number) => void;
}

interface LevelSpec {
  readonly name: string;
  readonly offered: number | null;
  readonly windowMs: number;
  readonly drive: (signal: AbortSignal) => Promise<Drive>;
}

/** How many levels a run has, and how long sending and waiting take at most, in milliseconds. */
export function planOf(kinds: readonly LoadKind[]): { levels: number; mostMs: number } {
  const windows = kinds.flatMap(({ closed, open, graceMs }) => [
    ...closed.clients.map(() => closed.windowMs + graceMs),
    ...open.rates.map(() => open.windowMs + graceMs),
  ]);
  return { levels: windows.length, mostMs: windows.reduce((sum, ms) => sum + ms, 0) };
}

/**
 * The whole service over HTTP under clients that wait for their answers, then under Poisson arrivals at
 * shares of what those clients got. What is refused, fails or does not end is counted, and stops nothing.
 */
export async function benchLoad(setup: LoadSetup): Promise<BenchResult> {
  const { kinds, parts, seed } = setup;
  let done = 0;
  const onLevel = (name: string) => setup.onLevel(name, done++);
  const measured: Measured[] = [];
  for (const kind of kinds) measured.push(await measureKind(kind, seed, onLevel));
  const conditions = { ...machine(), parts, "client, front and worker": "one machine", seed };
  return {
    suite: "load",
    conditions: { ...conditions, ...objectivesOf(kinds) },
    rows: measured.flatMap(({ kind, levels }) => levels.flatMap((level) => rowsOf(kind, level))),
    counts: measured.flatMap(({ kind, levels }) => levels.map((level) => countsOf(kind, level))),
    distributions: measured.flatMap(({ levels }) => levels.flatMap(distributionsOf)),
    series: measured.flatMap(({ kind, levels }) => seriesOf(kind, levels)),
    unmeasured: measured.flatMap(({ unmeasured }) => unmeasured),
  };
}

function objectivesOf(kinds: readonly LoadKind[]): Record<string, string> {
  return Object.fromEntries(
    kinds.map(({ name, objectiveSeconds }) => [`objective of ${name}`, `${objectiveSeconds} s`]),
  );
}

interface Measured {
  readonly kind: LoadKind;
  readonly levels: readonly Level[];
  readonly unmeasured: readonly Unmeasured[];
}

async function measureKind(
  kind: LoadKind,
  seed: number,
  onLevel: (name: string) => void,
): Promise<Measured> {
  const measure = async (spec: LevelSpec): Promise<Level> => {
    onLevel(spec.name);
    return await measureLevel(kind, spec);
  };
  // The first one opens connections and compiles code; the loops see whether it works.
  await closedLoop(kind.send, { clients: 1, count: 1 }, AbortSignal.timeout(kind.graceMs));
  await kind.settle();
  const levels: Level[] = [];
  for (const spec of closedSpecs(kind)) levels.push(await measure(spec));
  const capacity = throughputOf(levels.at(-1));
  const rates = capacity > 0 ? kind.open.rates.map((share) => share * capacity) : [];
  for (const rate of rates) levels.push(await measure(openSpec(kind, rate, seed)));
  const why = "no request of the closed loop was answered";
  const unknown = capacity > 0 ? [] : [{ what: `${kind.name}, open loop`, why }];
  return { kind, levels, unmeasured: [...unknown, ...levels.flatMap(troublesOf)] };
}

function closedSpecs({ name, send, closed: { clients, windowMs } }: LoadKind): LevelSpec[] {
  return clients.map((many) => ({
    name: `${name}, ${many} ${many === 1 ? "client" : "clients"}`,
    offered: null,
    windowMs,
    drive: (signal) => closedLoop(send, { clients: many, windowMs }, signal),
  }));
}

function openSpec({ name, send, open }: LoadKind, perSecond: number, seed: number): LevelSpec {
  const { windowMs } = open;
  const arrivals = arrivalsWithin(perSecond, windowMs, seed);
  const offered = round((arrivals.length * 1_000) / windowMs);
  return {
    name: `${name}, ${offered}/s offered`,
    offered,
    windowMs,
    async drive(signal) {
      const { outcomes } = await openLoop(send, arrivals, signal);
      // A rate is by the time in which requests were due, not by that and the wait for the last one.
      return { outcomes, seconds: windowMs / 1_000 };
    },
  };
}

async function measureLevel(
  { graceMs, settle, waitsMs }: LoadKind,
  { name, offered, windowMs, drive }: LevelSpec,
): Promise<Level> {
  const since = Date.now();
  const signal = AbortSignal.timeout(windowMs + graceMs);
  setMaxListeners(0, signal);
  const driven = await drive(signal);
  await settle();
  return { name, offered, ...driven, waitsMs: await waitsMs(since, driven.outcomes.length) };
}

/** Requests a second that were answered. */
function throughputOf(level: Level | undefined): number {
  return level === undefined ? 0 : countOf(level, "answered") / level.seconds;
}

/** One rate or number of clients, measured. */
export interface Level extends Drive {
  readonly name: string;
  /** Requests a second; null of a closed loop. */
  readonly offered: number | null;
  readonly waitsMs: readonly number[];
}

interface Objective {
  readonly name: string;
  readonly objectiveSeconds: number;
}

/** Throughput, and goodput: what ended well within the objective. */
function rowsOf({ objectiveSeconds }: Objective, level: Level): BenchRow[] {
  const { name, outcomes, seconds } = level;
  const row = (what: string, ours: number) => ({
    what: `${name}: ${what}`,
    ours: round(ours / seconds),
    against: round(outcomes.length / seconds),
    unit: "1/s",
    ratio: round(ours / outcomes.length),
    target: null,
    noise: null,
  });
  return [
    row("answered / sent", countOf(level, "answered")),
    row(`goodput within ${objectiveSeconds} s / sent`, goodOf(level, objectiveSeconds)),
  ];
}

/** What became of every request of a level. */
function countsOf({ objectiveSeconds }: Objective, level: Level): TableRow {
  return {
    requests: level.name,
    sent: level.outcomes.length,
    answered: countOf(level, "answered"),
    "within the objective": goodOf(level, objectiveSeconds),
    refused: countOf(level, "refused"),
    failed: countOf(level, "failed"),
    "not ended": countOf(level, "unended"),
  };
}

/** Why requests failed, by the first of a level that did. */
function troublesOf(level: Level): Unmeasured[] {
  const first = level.outcomes.find(({ end }) => end === "failed");
  if (first === undefined) return [];
  const what = `${level.name}: ${countOf(level, "failed")} of ${level.outcomes.length}`;
  return [{ what, why: `failed: ${first.reason ?? "no reason given"}` }];
}

function distributionsOf(level: Level): Distribution[] {
  const { name, waitsMs } = level;
  return [
    distribute({ what: `${name}: queued until started`, unit: "ms" }, waitsMs),
    distribute({ what: `${name}: end to end`, unit: "ms" }, latencies(level)),
  ].filter(({ count }) => count > 0);
}

/** Latency and goodput over the offered rate. */
function seriesOf({ name, objectiveSeconds }: Objective, levels: readonly Level[]): Series[] {
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

/** Requests that ended in this way. */
function countOf({ outcomes }: Drive, end: End): number {
  return outcomes.filter((outcome) => outcome.end === end).length;
}

function goodOf({ outcomes }: Drive, objectiveSeconds: number): number {
  return outcomes.filter(
    ({ end, latencyMs }) => end === "answered" && latencyMs <= objectiveSeconds * 1_000,
  ).length;
}

/** What was given up counts with the time it had waited: without it the slowest would be left out. */
function latencies({ outcomes }: Drive): number[] {
  return outcomes
    .filter(({ end }) => end === "answered" || end === "unended")
    .map(({ latencyMs }) => latencyMs);
}
