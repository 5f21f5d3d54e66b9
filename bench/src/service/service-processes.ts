import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { type Endpoint, readDevFile } from "../../../src/bin/data-folder.js";
import { type Config, environmentOf } from "../../../src/config.js";

/** The service in processes of its own, as it is operated. */
export interface ServiceProcesses {
  readonly endpoint: Endpoint;
  /** Of what it is made, for the conditions. */
  readonly parts: string;
  /** Name → process id, as it is now. */
  readonly processIds: () => Readonly<Record<string, number>>;
  /** An answer of the admin routes, as JSON. */
  readonly admin: (path: string, body?: object) => Promise<unknown>;
  /** Kills the worker and its inference process, and starts another, without waiting until that is ready. */
  readonly restartWorker: () => Promise<void>;
  close(): Promise<void>;
}

const OWN_CHECKOUT = fileURLToPath(new URL("../../../", import.meta.url));
const START_MS = 180_000;

/** Reading every line of a busy service would cost what is measured. */
const TELLING = /"msg":"(front ready|worker ready|models are loaded)"/;

/** Lines of the log that tell where things are. */
const logLine = z.object({
  msg: z.string(),
  pid: z.number(),
  baseUrl: z.string().optional(),
  grpcPort: z.number().optional(),
  processId: z.number().optional(),
});

type LogLine = z.infer<typeof logLine>;

interface Running {
  readonly child: ChildProcess;
  /** The latest line that says so; waits for one. */
  says(text: string): Promise<LogLine>;
  latest(text: string): LogLine | undefined;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/**
 * `front` and `worker` apart over a real broker and database, `up` where the configuration names none; of
 * this checkout, or of another that is built.
 */
export async function startServiceProcesses(
  config: Config,
  checkout = OWN_CHECKOUT,
): Promise<ServiceProcesses> {
  const adminKey = config.adminKey ?? randomBytes(32).toString("base64url");
  const own = {
    ...config,
    adminKey,
    logLevel: "info",
    port: 0,
    grpcPort: 0,
    workerPort: 0,
  } as const;
  const isApart = config.amqpUrl !== undefined && config.databaseUrl !== undefined;
  const start: Start = (command, settings) => startCommand(checkout, command, settings);
  return isApart
    ? await startApart(start, own, adminKey)
    : await startTogether(start, own, adminKey);
}

type Start = (command: string, config: Config) => Running;

async function startApart(
  start: Start,
  config: Config,
  adminKey: string,
): Promise<ServiceProcesses> {
  const running: Running[] = [];
  try {
    const front = start("front", config);
    running.push(front);
    const { baseUrl = "", grpcPort = 0 } = await front.says("front ready");
    const openWorker = () => start("worker", { ...config, frontAddress: `127.0.0.1:${grpcPort}` });
    const worker = openWorker();
    running.push(worker);
    await worker.says("worker ready");
    const admin = adminOf(baseUrl, adminKey);
    const made = await admin("/keys", { project: "default", name: "bench" });
    const { key: apiKey } = z.object({ key: z.string() }).parse(made);
    return serviceOf({
      endpoint: { baseUrl, apiKey },
      parts: "RabbitMQ, Postgres, front and worker apart",
      processes: { front, worker },
      workerName: "worker",
      openWorker,
      admin,
    });
  } catch (thrown) {
    await stopAll(running);
    throw thrown;
  }
}

async function startTogether(
  start: Start,
  config: Config,
  adminKey: string,
): Promise<ServiceProcesses> {
  const up = start("up", config);
  try {
    await up.says("worker ready");
    let endpoint: Endpoint | undefined;
    while ((endpoint = await readDevFile(config.dataDir)) === undefined) await sleep(20);
    const workerName = "front and worker";
    return serviceOf({
      endpoint,
      parts: "front and worker in one process",
      processes: { [workerName]: up },
      workerName,
      openWorker: () => start("up", config),
      admin: adminOf(endpoint.baseUrl, adminKey),
    });
  } catch (thrown) {
    await up.stop();
    throw thrown;
  }
}

interface Parts extends Pick<ServiceProcesses, "endpoint" | "parts" | "admin"> {
  readonly processes: Record<string, Running>;
  /** The one of them that is the worker. */
  readonly workerName: string;
  readonly openWorker: () => Running;
}

function serviceOf({ processes, workerName, openWorker, ...told }: Parts): ServiceProcesses {
  const inferenceId = () => processes[workerName]?.latest("models are loaded")?.processId ?? 0;
  return {
    ...told,
    processIds() {
      // A worker's supervisor starts it anew.
      const idOf = (one: Running) => one.latest("worker ready")?.pid ?? one.child.pid ?? 0;
      const named = Object.entries(processes).map(([name, one]) => [name, idOf(one)]);
      return { ...Object.fromEntries(named), inference: inferenceId() };
    },
    async restartWorker() {
      const inference = inferenceId();
      await processes[workerName]?.stop("SIGKILL");
      process.kill(-inference, "SIGKILL");
      processes[workerName] = openWorker();
    },
    close: () => stopAll(Object.values(processes)),
  };
}

/** The last one first: a worker still has a front to tell what it did. */
async function stopAll(running: readonly Running[]): Promise<void> {
  for (const one of running.toReversed()) await one.stop();
}

function adminOf(baseUrl: string, adminKey: string): ServiceProcesses["admin"] {
  return async (path, body) => {
    const response = await fetch(new URL(`/admin${path}`, baseUrl), {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`/admin${path} answered ${response.status}`);
    return await response.json();
  };
}

function startCommand(checkout: string, command: string, config: Config): Running {
  const cli = join(checkout, "dist", "bin", "framemill.js");
  const child = spawn(process.execPath, [cli, command], {
    env: environmentOf(config),
    stdio: ["ignore", "ignore", "pipe"],
  });
  const exited = once(child, "exit");
  const said = new Map<string, LogLine>();
  let last = "";
  createInterface({ input: child.stderr }).on("line", (line) => {
    last = line;
    const parsed = TELLING.test(line) ? parseLine(line) : undefined;
    if (parsed !== undefined) said.set(parsed.msg, parsed);
  });
  return {
    child,
    latest: (text) => said.get(text),
    async says(text) {
      const deadline = performance.now() + START_MS;
      for (;;) {
        const line = said.get(text);
        if (line !== undefined) return line;
        if (child.exitCode !== null || performance.now() > deadline)
          throw new Error(`framemill ${command} did not start: ${last}`);
        await sleep(20);
      }
    },
    async stop(signal = "SIGTERM") {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await exited;
    },
  };
}

function parseLine(line: string): LogLine | undefined {
  try {
    return logLine.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
