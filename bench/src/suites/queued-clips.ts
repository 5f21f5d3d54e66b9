import { setTimeout as sleep } from "node:timers/promises";
import { postClip } from "./load.js";
import {
  type BenchRow,
  compare,
  distribute,
  type Distribution,
  type Pair,
} from "../report/measure.js";
import { BENCH_REQUEST } from "./clip.js";
import { coveredMs } from "./pipeline-runs.js";

export interface ClipService {
  /** Includes `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Newest first, by the database's clock. */
  readonly listJobs: (newest: number) => Promise<readonly ClipJob[]>;
  /** Files of a job that were stored, in Unix milliseconds. */
  readonly uploadsOf: (jobId: string) => readonly Upload[];
}

export interface ClipJob {
  readonly id: string;
  readonly state: string;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** Wall time that the job held its slot. */
  readonly gpuMs: number;
}

export interface Upload {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

/** Measured one after the other in each round. */
interface Round {
  readonly one: readonly ClipJob[];
  readonly two: readonly ClipJob[];
}

const POLL_MS = 25;
const TWO_CLIPS_TARGET = 1.85;
const SECONDS_AN_HOUR = 3_600;

/** What a clip costs and what it is sold for. */
export interface Money {
  readonly dollarsPerHour: number;
  /** Price of a second of the clip that is made, in dollars. */
  readonly dollarsPerSecond: number;
}

/** Clips through HTTP, queue, worker, store and report: alone, and two that are sent together. */
export async function benchQueuedClips(
  service: ClipService,
  rounds: number,
  money: Money,
): Promise<{ readonly rows: BenchRow[]; readonly distributions: Distribution[] }> {
  await makeClips(service, 1);
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round += 1)
    measured.push({ one: await makeClips(service, 1), two: await makeClips(service, 2) });
  return {
    rows: rowsOf(measured, money),
    distributions: distributionsOf(
      measured.flatMap(({ one }) => one),
      service,
    ),
  };
}

async function makeClips(service: ClipService, count: number): Promise<readonly ClipJob[]> {
  const { signal } = new AbortController();
  const posted = await Promise.all(
    Array.from({ length: count }, () => postClip(service, BENCH_REQUEST.seed ?? 1, signal)),
  );
  for (;;) {
    const jobs = (await service.listJobs(count)).filter(({ id }) => posted.includes(id));
    const broken = jobs.find(({ state }) => state === "failed" || state === "cancelled");
    if (broken !== undefined) throw new Error(`the clip ${broken.id} is ${broken.state}`);
    if (jobs.length === count && jobs.every(({ state }) => state === "completed")) return jobs;
    await sleep(POLL_MS);
  }
}

function rowsOf(measured: readonly Round[], money: Money): BenchRow[] {
  const row = (what: string, unit: string, pair: (round: Round) => Pair) =>
    compare({ what, unit, target: null }, measured.map(pair));
  const { seconds } = BENCH_REQUEST;
  const slotSeconds = ({ one }: Round) => sum(one.map(({ gpuMs }) => gpuMs)) / 1_000;
  const { dollarsPerHour, dollarsPerSecond } = money;
  return [
    compare(
      { what: "two clips sent together / one", unit: "s", target: TWO_CLIPS_TARGET },
      measured.map(({ one, two }) => ({ ours: wallMs(two) / 1_000, against: wallMs(one) / 1_000 })),
    ),
    row("compute-seconds of a clip / its playing time", "s", (round) => ({
      ours: slotSeconds(round),
      against: seconds,
    })),
    row(`dollars of compute at ${dollarsPerHour} an hour / price, a second of clip`, "$", (it) => ({
      ours: ((slotSeconds(it) / seconds) * dollarsPerHour) / SECONDS_AN_HOUR,
      against: dollarsPerSecond,
    })),
  ];
}

function distributionsOf(jobs: readonly ClipJob[], { uploadsOf }: ClipService): Distribution[] {
  const stage = (what: string, ms: (job: ClipJob) => number) =>
    distribute({ what, unit: "ms" }, jobs.map(ms));
  const lastUpload = ({ id }: ClipJob) =>
    Math.max(...uploadsOf(id).map(({ endedAtMs }) => endedAtMs));
  return [
    stage("queued until started", (job) => startOf(job) - Date.parse(job.createdAt)),
    stage("upload", ({ id }) => coveredMs(uploadsOf(id))),
    stage("report: last upload to recorded", (job) => Math.max(0, endOf(job) - lastUpload(job))),
    stage("clip, end to end", (job) => wallMs([job])),
  ];
}

/** From the first job's acceptance to the last one's recorded end. */
function wallMs(jobs: readonly ClipJob[]): number {
  const begun = Math.min(...jobs.map(({ createdAt }) => Date.parse(createdAt)));
  return Math.max(...jobs.map(endOf)) - begun;
}

function startOf({ startedAt }: ClipJob): number {
  return startedAt === null ? Number.NaN : Date.parse(startedAt);
}

function endOf({ endedAt }: ClipJob): number {
  return endedAt === null ? Number.NaN : Date.parse(endedAt);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
