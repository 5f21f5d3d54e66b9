import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Config } from "../../../src/config.js";
import { addModel } from "../../../src/models/add-model.js";
import { readProcessMemory } from "../../../src/runtime/process/process.js";
import { type BenchResult, type BenchRow, round } from "../report/measure.js";
import { listTree, openCpuMeter } from "../service/process-cpu.js";
import { startServiceProcesses } from "../service/service-processes.js";
import { withBenchFolder } from "../service/stack.js";
import { withTemporaryFolder } from "../temporary-folder.js";
import { type PeerFiles, peerProgram } from "./install.js";

/** Rows of one group, with what else must be known of it. */
export interface PeerRows {
  readonly rows: readonly BenchRow[];
  readonly conditions?: BenchResult["conditions"];
}

/** One side of a comparison: processes that answer over HTTP. */
export interface Subject {
  readonly name: string;
  /** Includes `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
  /** Root of its processes. */
  readonly processId: number;
  /** The process that holds the model. */
  readonly modelProcessId: () => number;
}

export const FRAMEMILL = "Framemill";

/** Framemill's `up` as it is started by hand, with embedded parts, these models and no others. */
export async function withFramemill<T>(
  config: Config,
  { folder, models }: { readonly folder?: string; readonly models?: string[] },
  use: (subject: Subject) => Promise<T>,
): Promise<T> {
  return await withBenchFolder(config, async (own) => {
    const modelsDir = folder === undefined ? own.modelsDir : own.dataDir;
    const served = folder === undefined ? models : [await addEncoderOrDecoder(folder, modelsDir)];
    const { amqpUrl: _broker, databaseUrl: _database, ...embedded } = own;
    const service = await startServiceProcesses({
      ...embedded,
      modelsDir,
      ...(served && { models: served }),
    });
    try {
      const ids = () => Object.values(service.processIds());
      return await use({
        name: FRAMEMILL,
        ...service.endpoint,
        model: served?.[0] ?? "",
        processId: ids()[0] ?? 0,
        modelProcessId: () => service.processIds()["inference"] ?? 0,
      });
    } finally {
      await service.close();
    }
  });
}

async function addEncoderOrDecoder(folder: string, modelsDir: string): Promise<string> {
  return (await addModel(folder, { modelsDir, modality: "embeddings" })).id;
}

/** A peer's server: `python PROGRAM FILES PORT THREADS`. */
export interface PeerServer {
  readonly name: string;
  readonly program: string;
  readonly model: string;
  readonly threads: number;
}

const START_MS = 120_000;

export async function withPeerServer<T>(
  { python }: PeerFiles,
  { name, program, model, threads }: PeerServer,
  use: (subject: Subject) => Promise<T>,
): Promise<T> {
  const port = await freePort();
  const args = [peerProgram(program), model, String(port), String(threads)];
  return await withChild(name, python, args, async ({ child, said }) => {
    const origin = `http://127.0.0.1:${port}`;
    const deadline = performance.now() + START_MS;
    while (!(await isHealthy(origin))) {
      if (child.exitCode !== null || performance.now() > deadline)
        throw new Error(`${name} did not start: ${said()}`);
      await sleep(100);
    }
    const processId = child.pid ?? 0;
    const modelProcessId = () => processId;
    return await use({
      name,
      baseUrl: `${origin}/v1`,
      apiKey: "none",
      model: name,
      processId,
      modelProcessId,
    });
  });
}

async function isHealthy(origin: string): Promise<boolean> {
  return await fetch(`${origin}/health`).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = z.object({ port: z.number() }).parse(server.address());
  server.close();
  await once(server, "close");
  return address.port;
}

/** A program that answers each line with one line of JSON. */
export interface LineProgram {
  readonly processId: number;
  /** Seconds that it says it took. */
  ask(line: string): Promise<number>;
}

const answer = z.object({ seconds: z.number().default(0) });

export async function withLineProgram<T>(
  name: string,
  [command, ...args]: readonly [string, ...string[]],
  use: (program: LineProgram) => Promise<T>,
): Promise<T> {
  return await withChild(name, command, args, async ({ child, said }) => {
    if (child.stdout === null) throw new Error(`${name} has no output`);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async () => {
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`${name} ended: ${said()}`);
      return answer.parse(JSON.parse(value)).seconds;
    };
    await next();
    return await use({
      processId: child.pid ?? 0,
      async ask(line) {
        child.stdin?.write(`${line}\n`);
        return await next();
      },
    });
  });
}

interface Child {
  readonly child: ChildProcess;
  /** The last lines of its standard error. */
  readonly said: () => string;
}

async function withChild<T>(
  name: string,
  command: string,
  args: readonly string[],
  use: (child: Child) => Promise<T>,
): Promise<T> {
  return await withTemporaryFolder(async (cwd) => {
    const child = spawn(command, args, { cwd, stdio: ["pipe", "pipe", "pipe"], detached: true });
    const ended = once(child, "exit").catch((cause: unknown) => {
      throw new Error(`${name} did not start`, { cause });
    });
    let last = "";
    child.stderr?.on("data", (text) => (last = (last + String(text)).slice(-1_000)));
    // What is not read would stop it.
    if (args[0]?.endsWith("server.py") === true) child.stdout?.resume();
    try {
      return await use({ child, said: () => last });
    } finally {
      stopGroup(child);
      await ended;
    }
  });
}

/** LitServe's workers outlive their parent where that is killed alone. */
function stopGroup({ pid, exitCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null) return;
  process.kill(-pid, "SIGKILL");
}

const MEBIBYTE = 2 ** 20;

/** Resident mebibytes of a process, or of a whole tree. */
export async function residentOf(processIds: readonly number[]): Promise<number> {
  const each = await Promise.all(processIds.map(readProcessMemory));
  return each.reduce((sum, { residentBytes }) => sum + residentBytes, 0) / MEBIBYTE;
}

export async function residentOfTree(root: number): Promise<number> {
  return await residentOf(await listTree(root));
}

/** CPU milliseconds of a subject's processes during a run. */
export async function cpuMsOf(processId: number, run: () => Promise<unknown>): Promise<number> {
  const meter = await openCpuMeter(processId);
  await run();
  return await meter.spentMs();
}

/** Figures as they come, so that a run of minutes is seen to go on. */
export function tell(who: string, figures: Readonly<Record<string, number>>): void {
  const shown = Object.entries(figures).map(([name, value]) => `${name} ${round(value)}`);
  process.stderr.write(`  ${who}: ${shown.join(", ")}\n`);
}
