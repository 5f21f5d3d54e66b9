import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client } from "pg";
import { buildWithModality } from "../integration/build-with-modality.js";
import { createPostgres, dropPostgres } from "../integration/front-harness.js";
import {
  environmentOf,
  type Running,
  startProcess,
  type Environment,
} from "../integration/service-processes.js";
import { startTcpProxy, type TcpProxy } from "../integration/tcp-proxy.js";
import { writeOnnx } from "../onnx-file.js";
import type { LedgerRow } from "./event-log.js";

export const MODEL = "grinder";
const PRICES = { toil: { videoSeconds: 100 } };

/** One process of the stand, started anew as often as it is killed. */
export interface Member {
  readonly name: string;
  running: Running;
  /** Starts it again once it has ended. */
  restart(): Promise<void>;
}

/** A whole service in processes of its own, over a real broker and database. */
export interface Stand {
  readonly fronts: readonly Member[];
  readonly workers: readonly Member[];
  /** Between the workers and the broker. */
  readonly brokerProxy: TcpProxy;
  /** `rabbitmqctl` on the broker. */
  control(...words: readonly string[]): Promise<void>;
  /** Sends a request to the next front; undefined when that one is away. */
  request(path: string, body?: object): Promise<Reply | undefined>;
  readLedger(): Promise<LedgerRow[]>;
  /** Keys of all files in the artifact store. */
  listFiles(): Promise<string[]>;
  readFile(key: string): Promise<string>;
  close(): Promise<void>;
}

export interface Reply {
  readonly status: number;
  // Bodies are checked by whoever reads them.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

export interface StandOptions {
  readonly fronts: number;
  readonly workers: number;
}

export async function openStand(options: StandOptions): Promise<Stand> {
  const folder = await mkdtemp(join(tmpdir(), "framemill-chaos-"));
  const source = fileURLToPath(new URL("toil", import.meta.url));
  const cliPath = await buildWithModality(folder, { name: "toil", source });
  await writePackage(join(folder, "models", MODEL));
  await writeFile(join(folder, "prices.json"), JSON.stringify(PRICES));
  const brokerUrl = new URL(process.env["AMQP_URL"] ?? "");
  const brokerProxy = await startTcpProxy(Number(brokerUrl.port), brokerUrl.hostname);
  const throughProxy = new URL(brokerUrl);
  throughProxy.port = String(brokerProxy.port);
  const databaseUrl = await createPostgres();
  const base: Environment = {
    AMQP_URL: brokerUrl.href,
    DATABASE_URL: databaseUrl,
    MODELS_DIR: join(folder, "models"),
    PRICES_FILE: join(folder, "prices.json"),
    REQUESTS_PER_MINUTE: "100000",
  };
  const dataDir = join(folder, "data");
  const grpcPorts = await freePorts(options.fronts);
  const httpPorts = await freePorts(options.fronts);
  const fronts = httpPorts.map((port, index) => {
    const ports = { PORT: String(port), GRPC_PORT: String(grpcPorts[index]) };
    const env = environmentOf(dataDir, { ...base, ...ports });
    return member(`front ${index}`, () => startProcess("front", env, cliPath), /"baseUrl"/);
  });
  await Promise.all(fronts.map(({ ready }) => ready));
  const workers = Array.from({ length: options.workers }, (_, index) => {
    const env = environmentOf(dataDir, {
      ...base,
      AMQP_URL: throughProxy.href,
      FRONT_ADDRESS: `127.0.0.1:${grpcPorts[index % grpcPorts.length]}`,
      SCRATCH_DIR: join(folder, `scratch-${index}`),
      THREADS: "1",
    });
    return member(`worker ${index}`, () => startProcess("worker", env, cliPath), /worker ready/);
  });
  await Promise.all(workers.map(({ ready }) => ready));
  const env = environmentOf(dataDir, base);
  const { stdout } = await promisify(execFile)(process.execPath, [cliPath, "keys", "create"], {
    env,
  });
  let turn = 0;
  const artifacts = join(dataDir, "artifacts");
  return {
    fronts,
    workers,
    brokerProxy,
    async control(...words) {
      const [program = "", ...first] = (process.env["RABBITMQCTL"] ?? "").split(" ");
      await promisify(execFile)(program, [...first, ...words]);
    },
    async request(path, body) {
      turn += 1;
      const url = `http://127.0.0.1:${httpPorts[turn % httpPorts.length]}/v1${path}`;
      return await send(url, stdout.trim(), body);
    },
    readLedger: () => readLedger(databaseUrl),
    async listFiles() {
      const entries = await readdir(artifacts, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(artifacts.length + 1));
    },
    readFile: (key) => readFile(join(artifacts, key), "utf8"),
    async close() {
      for (const { running } of [...workers, ...fronts]) await running.stop("SIGKILL");
      await brokerProxy.close();
      await dropPostgres(databaseUrl);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function writePackage(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, "grinder.onnx");
  writeOnnx(path, { operator: "Neg" });
  const bytes = await readFile(path);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const files = { grinder: { path: "grinder.onnx", sha256, byteLength: bytes.byteLength } };
  const manifest = {
    id: MODEL,
    modality: "toil",
    pipeline: "toil",
    files,
    execution: { providers: ["cpu"] },
    shapes: {},
    limits: {},
    memory: null,
    licence: "Apache-2.0",
    source: "made by a test",
    card: "README.md",
  };
  await writeFile(join(folder, "model.json"), JSON.stringify(manifest));
}

function member(name: string, start: () => Running, sign: RegExp) {
  const own = { name, running: start() };
  const ready = own.running.says(sign);
  return Object.assign(own, {
    ready,
    async restart() {
      own.running = start();
      await own.running.says(sign);
    },
  });
}

async function send(url: string, key: string, body?: object): Promise<Reply | undefined> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const signal = AbortSignal.timeout(5_000);
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  try {
    const response = await fetch(url, { headers, signal, ...init });
    return { status: response.status, json: await response.json() };
  } catch {
    return undefined;
  }
}

async function readLedger(connectionString: string): Promise<LedgerRow[]> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query<LedgerRow>(`
      SELECT 'ledger' AS type, id, state, token, crashes, preemptions,
        amount_micro_usd::int AS quoted,
        (SELECT coalesce(json_agg(artifact->>'id'), '[]')
          FROM jsonb_array_elements(artifacts) artifact) AS files,
        (SELECT coalesce(json_agg(amount_micro_usd::int), '[]')
          FROM charges WHERE job_id = jobs.id) AS charges
      FROM jobs ORDER BY seq`);
    return rows;
  } finally {
    await client.end();
  }
}

/** Ports that were free a moment ago; a restarted process keeps its own. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
