import { type JobService, type LoadResult, runLoad } from "./job-load.js";
import { type BenchRow, compare, distribute, type Distribution, median } from "./measure.js";
import { openCpuMeter } from "./process-cpu.js";

/** A service in processes of its own. */
export interface ApartService extends JobService {
  readonly model: string;
  /** Root of each part's processes, by its name; undefined where it is on another machine. */
  readonly processes: Readonly<Record<string, ProcessTree>>;
}

export interface ProcessTree {
  readonly root: number | undefined;
  /** Roots of parts that are counted apart. */
  readonly without?: readonly number[];
}

export interface ThroughputResult {
  readonly rows: readonly BenchRow[];
  readonly distributions: readonly Distribution[];
  readonly conditions: Readonly<Record<string, string | number>>;
}

const JOBS_PER_ROUND = 1_000;
/** Requests until the code of every process is compiled and the statements are planned. */
const WARM_UP = 1_000;
const IN_FLIGHT = 64;
/** Whole-stack jobs a second on two cores. */
const TARGET_PER_SECOND = 300;
/** The smallest job there is: an embedding of one token, the rest of its time is the stack's. */
const PATH = "/embeddings";

/** Smallest jobs through every process: their rate, and the processor time that each part takes of it. */
export async function benchThroughput(
  service: ApartService,
  rounds: number,
): Promise<ThroughputResult> {
  const body = { model: service.model, input: [7], encoding_format: "base64" };
  const plan = { path: PATH, body, count: JOBS_PER_ROUND, inFlight: IN_FLIGHT };
  await runLoad(service, { ...plan, count: WARM_UP });
  const meters = await openMeters(service);
  const loads: LoadResult[] = [];
  for (let round = 0; round < rounds; round += 1) loads.push(await runLoad(service, plan));
  const jobs = rounds * JOBS_PER_ROUND;
  const spent = await Promise.all(
    meters.map(async ({ name, meter }) => ({ name, ms: (await meter.spentMs()) / jobs })),
  );
  return {
    rows: [rateRow(loads), ...cpuRows(spent)],
    distributions: [
      distribute(
        { what: `whole-stack job, ${IN_FLIGHT} in flight: POST → answer`, unit: "ms" },
        loads.flatMap(({ latencies }) => latencies),
      ),
    ],
    conditions: {
      "jobs a second": Math.round(JOBS_PER_ROUND / median(loads.map(({ seconds }) => seconds))),
      "in flight": IN_FLIGHT,
      refused: loads.reduce((sum, { refused }) => sum + refused, 0),
      "smallest job": `an embedding of one token by ${service.model}`,
    },
  };
}

async function openMeters({ processes }: ApartService) {
  const parts = {
    ...processes,
    "load generator": { root: process.pid, without: rootsOf(processes) },
  };
  return await Promise.all(
    Object.entries<ProcessTree>(parts).map(async ([name, { root, without }]) => ({
      name,
      meter: await openCpuMeter(root, without),
    })),
  );
}

function rootsOf(processes: ApartService["processes"]): number[] {
  return Object.values(processes).flatMap(({ root }) => root ?? []);
}

function rateRow(loads: readonly LoadResult[]): BenchRow {
  const against = 1_000 / TARGET_PER_SECOND;
  const pairs = loads.map(({ seconds }) => ({ ours: (seconds * 1_000) / JOBS_PER_ROUND, against }));
  return compare(
    { what: "whole-stack job / 1 ÷ 300 s, all on this machine", unit: "ms", target: 1 },
    pairs,
  );
}

interface Spent {
  readonly name: string;
  readonly ms: number;
}

/** What a job takes of the processors, by part; the share of all says where to look. */
function cpuRows(spent: readonly Spent[]): BenchRow[] {
  const seen = spent.filter(({ ms }) => !Number.isNaN(ms));
  const all = seen.reduce((sum, { ms }) => sum + ms, 0);
  return seen.map(({ name, ms }) =>
    compare({ what: `CPU of a job: ${name} / all parts`, unit: "CPU-ms", target: null }, [
      { ours: ms, against: all },
    ]),
  );
}
