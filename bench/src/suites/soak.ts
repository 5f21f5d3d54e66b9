import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Config } from "../../../src/config.js";
import { listModelPackages } from "../../../src/runtime/packages/model-package.js";
import { readProcessMemory } from "../../../src/runtime/process/process.js";
import {
  type BenchResult,
  type BenchRow,
  distribute,
  machine,
  round,
  slopeOf,
  type Series,
} from "../report/measure.js";
import type { SuiteOptions } from "../bench.js";
import { startServiceProcesses } from "../service/service-processes.js";
import { withBenchFolder } from "../service/stack.js";
import { type SoakJob, soakJobs, type SoakService } from "./soak-jobs.js";

const JOBS = 200;
const QUICK_JOBS = 60;
/** Full before anything is counted: what chat models remember grows to a limit by design. */
const PROMPT_CACHE_BYTES = 2 ** 20;

const ledgerTimes = z.array(
  z.object({
    modality: z.string(),
    state: z.string(),
    gpuMs: z.number(),
    startedAt: z.string().nullable(),
    endedAt: z.string().nullable(),
  }),
);

/** Of one job; `gpuMs` is how long it held a slot, recorded and billed to nobody. */
type LedgerTimes = z.infer<typeof ledgerTimes>[number];

/** A service of the configuration in processes and a folder of its own. */
export async function runSoak(
  config: Config,
  _rounds: number,
  { quick = false }: SuiteOptions,
): Promise<BenchResult> {
  const packages = await listModelPackages(config.modelsDir);
  return await withBenchFolder(config, async (own) => {
    const scratchDir = join(own.dataDir, "scratch");
    const service = await startServiceProcesses({
      ...own,
      scratchDir,
      promptCacheBytes: PROMPT_CACHE_BYTES,
    });
    try {
      const subject = {
        ...service.endpoint,
        parts: service.parts,
        modelOf: (modality: string) => packages.find((it) => it.modality === modality)?.id,
        processIds: service.processIds,
        listJobs: async () => ledgerTimes.parse(await service.admin("/jobs?limit=1000")),
      };
      return await benchSoak(subject, quick ? QUICK_JOBS : JOBS);
    } finally {
      await service.close();
    }
  });
}

interface SoakSubject extends SoakService {
  /** Names of broker, database and processes, for the conditions. */
  readonly parts: string;
  /** Name → process id, as it is now. */
  readonly processIds: () => ProcessIds;
  /** What the ledger says of the newest jobs, newest first. */
  readonly listJobs: () => Promise<readonly LedgerTimes[]>;
}

interface Sample {
  readonly kind: string;
  /** Counted from the first measured job; negative before. */
  readonly job: number;
  /** From the request to the last byte of the answer. */
  readonly ms: number;
  /** Mebibytes of each process's anonymous resident memory. */
  readonly memory: Readonly<Record<string, number>>;
}

/** Turns are never negative: texts are drawn by them. */
const FIRST_TURN = 1_000;
/** What a job may add, in megabytes. */
const ALLOWED_MB = 0.1;
/** Cycles before anything is counted: arenas, pools and compiled code settle. */
const WARM_UP_CYCLES = 4;
/** Until a worker has let go of what its caller already has, in milliseconds. */
const QUIET_MS = 100;
const MEBIBYTE = 2 ** 20;
const MB_PER_MEBIBYTE = MEBIBYTE / 1e6;

/** Jobs of every kind one after the other; memory of every process after each, and its slope. */
async function benchSoak(subject: SoakSubject, jobs: number): Promise<BenchResult> {
  const kinds = soakJobs(subject);
  const cycle = [...kinds, ...kinds.filter(({ isLong }) => isLong !== true)];
  const before = subject.processIds();
  const samples: Sample[] = [];
  const warmUp = WARM_UP_CYCLES * cycle.length;
  for (let turn = 0; turn < warmUp + jobs; turn += 1) {
    const kind = cycle[turn % cycle.length];
    if (kind !== undefined) samples.push(await runJob(subject, kind, turn - warmUp));
  }
  checkSame(before, subject.processIds());
  const measured = samples.filter(({ job }) => job >= 0);
  return {
    suite: "soak",
    conditions: {
      ...machine(),
      parts: subject.parts,
      jobs,
      "jobs before": warmUp,
      kinds: kinds.length,
      slope: "Theil-Sen",
    },
    rows: [
      ...Object.keys(before).flatMap((name) => memoryRows(name, measured)),
      await ledgerRow(subject, jobs),
    ],
    distributions: kinds.map(({ kind }) =>
      distribute(
        { what: `${kind}: request to answer`, unit: "ms" },
        measured.filter((sample) => sample.kind === kind).map(({ ms }) => ms),
      ),
    ),
    series: Object.keys(before).map((name) => seriesOf(name, samples)),
  };
}

async function runJob(subject: SoakSubject, soakJob: SoakJob, job: number): Promise<Sample> {
  const { kind } = soakJob;
  const startedAt = performance.now();
  await soakJob.run(job + FIRST_TURN);
  const ms = performance.now() - startedAt;
  await sleep(QUIET_MS);
  const memory: Record<string, number> = {};
  for (const [name, processId] of Object.entries(subject.processIds()))
    memory[name] = (await readProcessMemory(processId)).anonymousBytes / MEBIBYTE;
  return { kind, job, ms, memory };
}

type ProcessIds = Readonly<Record<string, number>>;

/** A process that was replaced starts small again: its slope would say nothing. */
function checkSame(before: ProcessIds, after: ProcessIds): void {
  const replaced = Object.keys(before).find((name) => before[name] !== after[name]);
  if (replaced !== undefined) throw new Error(`the process ${replaced} was replaced on the way`);
}

function memoryRows(name: string, samples: readonly Sample[]): BenchRow[] {
  const points = pointsOf(name, samples);
  const slope = slopeOf(points) * MB_PER_MEBIBYTE;
  const tenth = Math.ceil(points.length / 10);
  const mean = (part: typeof points) => part.reduce((sum, [, y]) => sum + y, 0) / part.length;
  const [first, last] = [mean(points.slice(0, tenth)), mean(points.slice(-tenth))];
  const bare = { target: null, noise: null };
  return [
    {
      what: `${name}: memory a job / allowed`,
      ours: round(slope),
      against: ALLOWED_MB,
      unit: "MB",
      ratio: round(slope / ALLOWED_MB),
      target: 1,
      noise: null,
    },
    {
      what: `${name}: memory, last tenth of the jobs / first`,
      ours: round(last),
      against: round(first),
      unit: "MiB",
      ratio: round(last / first),
      ...bare,
    },
  ];
}

/** Seconds of compute that the ledger has of the completed jobs, beside those from their start to their end. */
async function ledgerRow(subject: SoakSubject, jobs: number): Promise<BenchRow> {
  const ended = (await subject.listJobs())
    .slice(0, jobs)
    .filter(({ state }) => state === "completed");
  const recorded = ended.reduce((sum, { gpuMs }) => sum + gpuMs, 0) / 1_000;
  const lasted = ended.reduce((sum, job) => sum + lastedMs(job), 0) / 1_000;
  return {
    what: "compute in the ledger / claim to completion",
    ours: round(recorded),
    against: round(lasted),
    unit: "s",
    ratio: round(recorded / lasted),
    target: null,
    noise: null,
  };
}

function lastedMs({ startedAt, endedAt }: LedgerTimes): number {
  return Date.parse(endedAt ?? "") - Date.parse(startedAt ?? "");
}

function pointsOf(name: string, samples: readonly Sample[]): (readonly [number, number])[] {
  return samples.map(({ job, memory }) => [job, memory[name] ?? Number.NaN] as const);
}

function seriesOf(name: string, samples: readonly Sample[]): Series {
  return {
    name,
    xLabel: "job",
    yLabel: "resident, anonymous, MiB",
    points: pointsOf(name, samples),
  };
}
