import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import OpenAI from "openai";
import type { Video } from "openai/resources/videos";

/** The compiled command line. */
export const cli = fileURLToPath(new URL("../../dist/bin/framemill.js", import.meta.url));
const START_MS = 120_000;

/** A video as the API shows it. */
export type FinishedClip = Video & { readonly cost: { readonly final: number | null } };

export interface JobRow {
  readonly id: string;
  readonly state: string;
  readonly attempts: number;
  readonly preemptions: number;
  readonly chargedMicroUsd: number | null;
}

/** The service as its users run it: processes that are talked to from outside. */
export interface ServiceProcesses {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly client: OpenAI;
  /** `framemill jobs --json`. */
  jobs(): Promise<JobRow[]>;
  /** Process id of the inference process, as the worker's log tells it. */
  inferencePid(): number;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export type Environment = Readonly<Record<string, string>>;

interface UpOptions {
  readonly environment?: Environment;
  /** Behind `up`, e.g. `--no-limits`. */
  readonly flags?: readonly string[];
  /** The compiled command line of another build. */
  readonly cliPath?: string;
}

/** `framemill up`: everything embedded, in one process tree; with the model for video unless the test says otherwise. */
export async function startUp(
  dataDir: string,
  { environment = {}, flags = [], cliPath = cli }: UpOptions = {},
): Promise<ServiceProcesses> {
  const env = environmentOf(dataDir, environment);
  const up = startProgram([process.execPath, cliPath, "up", ...flags], env);
  const [, baseUrl = "", apiKey = ""] = await up.says(/address +(\S+)\ndevelopment key +(\S+)\n/);
  return serviceOf({ baseUrl, apiKey, env, worker: up, processes: [up] });
}

/** `framemill front` and `framemill worker`, apart, over the servers that the environment names. */
export async function startApart(
  dataDir: string,
  services: Environment,
): Promise<ServiceProcesses> {
  const env = environmentOf(dataDir, services);
  const front = startProcess("front", env);
  const [, baseUrl = "", grpcPort] = await front.says(/"baseUrl":"([^"]+)","grpcPort":(\d+)/);
  const worker = startProcess("worker", { ...env, FRONT_ADDRESS: `127.0.0.1:${grpcPort}` });
  const [key] = await Promise.all([
    runCommand(["keys", "create"], env),
    worker.says(/worker ready/),
  ]);
  return serviceOf({ baseUrl, apiKey: key.trim(), env, worker, processes: [worker, front] });
}

export interface Running {
  readonly child: ChildProcess;
  output(): string;
  /** Waits for the output to match. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  stop(signal: NodeJS.Signals): Promise<void>;
}

/** One command of the command line as a process of its own; `within` are words before it. */
export function startProcess(
  command: string,
  env: NodeJS.ProcessEnv,
  cliPath = cli,
  within: readonly string[] = [],
): Running {
  return startProgram([...within, process.execPath, cliPath, command], env);
}

/** A program and its arguments, whose output can be waited for. */
export function startProgram(words: readonly string[], env: NodeJS.ProcessEnv): Running {
  const [program = "", ...args] = words;
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  }
  return {
    child,
    output: () => output,
    async says(pattern) {
      const deadline = performance.now() + START_MS;
      for (;;) {
        const match = pattern.exec(output);
        if (match) return match;
        if (child.exitCode !== null || performance.now() > deadline) {
          throw new Error(
            `${words.slice(-2).join(" ")} did not say ${pattern}: ${output.slice(-2_000)}`,
          );
        }
        await sleep(20);
      }
    },
    async stop(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await exited;
    },
  };
}

interface ServiceParts {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly env: NodeJS.ProcessEnv;
  readonly worker: Running;
  readonly processes: readonly Running[];
}

function serviceOf({ baseUrl, apiKey, env, worker, processes }: ServiceParts): ServiceProcesses {
  return {
    baseUrl,
    apiKey,
    client: new OpenAI({ baseURL: baseUrl, apiKey }),
    jobs: () => listJobs(env),
    inferencePid: () => findInferencePid(worker),
    async stop(signal = "SIGTERM") {
      for (const process of processes) await process.stop(signal);
    },
  };
}

/** Process id of a worker's inference process, as its log tells it. */
export function findInferencePid({ output }: Pick<Running, "output">): number {
  const pids = [...output().matchAll(/"processId":(\d+),"loadMs"/g)];
  return Number(pids.at(-1)?.[1]);
}

/** A clip once it has ended, as the front tells who waits for it. */
export async function finishClip(client: OpenAI, { id }: Pick<Video, "id">): Promise<FinishedClip> {
  for (;;) {
    const clip = await client.get<FinishedClip>(`/videos/${id}?wait=30`);
    if (clip.status === "completed" || clip.status === "failed") return clip;
  }
}

/** `framemill jobs --json` of the 100 newest, over the database that the environment names. */
export async function listJobs(env: NodeJS.ProcessEnv): Promise<JobRow[]> {
  return JSON.parse(await runCommand(["jobs", "--json", "--limit", "100"], env)) as JobRow[];
}

/** What a command of the command line prints. */
export async function runCommand(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cliPath = cli,
): Promise<string> {
  return (await promisify(execFile)(process.execPath, [cliPath, ...args], { env })).stdout;
}

export function environmentOf(dataDir: string, services: Environment): NodeJS.ProcessEnv {
  // The bootstrap's servers are for those who ask for them.
  const { AMQP_URL: _amqp, DATABASE_URL: _database, ...rest } = process.env;
  return {
    ...rest,
    DATA_DIR: dataDir,
    SCRATCH_DIR: join(dataDir, "scratch"),
    PORT: "0",
    GRPC_PORT: "0",
    WORKER_PORT: "0",
    ...("MODELS_DIR" in services ? {} : { MODELS: "service-motion-1" }),
    ...services,
  };
}
