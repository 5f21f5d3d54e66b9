import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { findListener } from "../bench/process-cpu.js";
import type { ApartService } from "../bench/throughput.js";
import { type Config, environmentWith } from "../config.js";
import { openDatabase } from "../front/database.js";
import { projectDefaults } from "../front/front.js";
import { createKeys } from "../front/keys.js";
import { randomBytes } from "node:crypto";
import { createLog } from "./log.js";

const START_MS = 60_000;
/** Far above what is measured. */
const REQUESTS_PER_MINUTE = 10_000_000;

/** `framemill front` and `framemill worker` as an operator starts them, with one model, for a measurement. */
export async function withApartService<T>(
  config: Config,
  model: string,
  use: (service: ApartService) => Promise<T>,
): Promise<T> {
  const { dataDir, modelsDir, amqpUrl, databaseUrl } = config;
  const own = { dataDir, modelsDir, port: 0, grpcPort: 0, workerPort: 0 };
  const limits = { requestsPerMinute: REQUESTS_PER_MINUTE, tokensPerMinute: REQUESTS_PER_MINUTE };
  const started: Started[] = [];
  try {
    const front = await start("front", { ...own, ...limits });
    started.push(front);
    const [, baseUrl = "", grpcPort] = await front.says(/"baseUrl":"([^"]+)","grpcPort":(\d+)/);
    const worker = await start("worker", {
      ...own,
      models: [model],
      scratchDir: join(dataDir, "scratch"),
      frontAddress: `127.0.0.1:${grpcPort}`,
    });
    started.push(worker);
    const [, inference] = await worker.says(/"processId":(\d+),"loadMs"[^]*worker ready/);
    const apiKey = await createKey({ ...config, ...limits });
    return await use({
      baseUrl,
      apiKey,
      model,
      processes: {
        front: { root: front.child.pid },
        worker: { root: worker.child.pid, without: [Number(inference)] },
        inference: { root: Number(inference) },
        RabbitMQ: { root: await listenerAt(amqpUrl) },
        Postgres: { root: await listenerAt(databaseUrl) },
      },
    });
  } finally {
    for (const one of started.toReversed()) await one.stop();
  }
}

async function createKey(config: Config): Promise<string> {
  const database = await openDatabase({ ...config, log: createLog(config, "framemill-bench") });
  try {
    const keys = createKeys({ database, defaults: projectDefaults(config), randomBytes });
    const name = `bench ${process.pid} ${Date.now()}`;
    return (await keys.createKey((await keys.createProject(name)).id, name)).key;
  } finally {
    await database.close();
  }
}

async function listenerAt(url: string | undefined): Promise<number | undefined> {
  return url === undefined ? undefined : await findListener(Number(new URL(url).port));
}

interface Started {
  readonly child: ChildProcess;
  says(pattern: RegExp): Promise<RegExpExecArray>;
  stop(): Promise<void>;
}

/** Its output goes to a file, as a container's does, and costs the reader nothing. */
async function start(command: string, settings: Partial<Config>): Promise<Started> {
  const program = fileURLToPath(new URL("./framemill.js", import.meta.url));
  const logPath = join(settings.dataDir ?? "", `${command}.log`);
  const output = await open(logPath, "w");
  const child = spawn(process.execPath, [program, command], {
    env: environmentWith(settings),
    stdio: ["ignore", output.fd, output.fd],
  });
  await output.close();
  const exited = once(child, "exit");
  return {
    child,
    async says(pattern) {
      for (let waitedMs = 0; waitedMs < START_MS; waitedMs += 50) {
        const said = pattern.exec(await readFile(logPath, "utf8"));
        if (said !== null) return said;
        if (child.exitCode !== null) break;
        await sleep(50);
      }
      const text = await readFile(logPath, "utf8");
      throw new Error(`framemill ${command} did not start: ${text.slice(-2_000)}`);
    },
    async stop() {
      if (child.exitCode === null) child.kill("SIGTERM");
      await exited;
    },
  };
}
