import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { closedLoop, type Send } from "./drive.js";
import {
  type BenchRow,
  compare,
  distribute,
  type Distribution,
  median,
} from "../report/measure.js";
import { openCpuMeter } from "../service/process-cpu.js";

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

export const JOBS_PER_ROUND = 1_000;
/** Requests until the code of every process is compiled and the statements are planned. */
const WARM_UP = 1_000;
export const IN_FLIGHT = 64;
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

export interface JobService {
  /** Includes `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
}

export interface LoadPlan {
  readonly path: string;
  readonly body: object;
  readonly count: number;
  /** Requests that wait for their answers at any time. */
  readonly inFlight: number;
}

export interface LoadResult {
  readonly seconds: number;
  /** Of each request until its whole answer, in milliseconds; a refused one's next tries included. */
  readonly latencies: readonly number[];
  /** Requests that were told to come again (503). */
  readonly refused: number;
}

/** A closed loop over kept connections: each client sends its next request when the last is answered. */
async function runLoad(service: JobService, plan: LoadPlan): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: plan.inFlight });
  const text = JSON.stringify(plan.body);
  const { count, inFlight: clients } = plan;
  let refused = 0;
  const send: Send = async () => {
    while (!(await post(agent, service, plan.path, text))) refused += 1;
  };
  try {
    const { signal } = new AbortController();
    const { outcomes, seconds } = await closedLoop(send, { clients, count }, signal);
    const failed = outcomes.find(({ end }) => end !== "answered");
    if (failed !== undefined) throw new Error(failed.reason);
    return { seconds, latencies: outcomes.map(({ latencyMs }) => latencyMs), refused };
  } finally {
    agent.destroy();
  }
}

/** Whether it was answered; false, after the wait that was asked for, where it was refused for now. */
async function post(
  agent: Agent,
  { baseUrl, apiKey }: JobService,
  path: string,
  text: string,
): Promise<boolean> {
  const sent = request(`${baseUrl}${path}`, {
    agent,
    method: "POST",
    headers: {
      authorization: `Bearer ${apiKey}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
    },
  });
  sent.end(text);
  // The event's arguments are typed by nobody; node:http says what they are.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  let answered = "";
  for await (const piece of answer) answered += String(piece);
  if (answer.statusCode === 200) return true;
  if (answer.statusCode !== 503)
    throw new Error(`${path} answered ${answer.statusCode}: ${answered.slice(0, 200)}`);
  await sleep(1_000 * Number(answer.headers["retry-after"] ?? 1));
  return false;
}
