import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createS3Store } from "#framemill/storage/s3.js";
import { buildWithModalities } from "../../support/build-with-modality.js";
import { createPostgres, dropPostgres, WORKER_TOKEN } from "../../support/front-harness.js";
import {
  environmentOf,
  type Running,
  startProcess,
  type Environment,
} from "../../support/service-harness.js";
import type { OwnHost } from "./own-host.js";
import { BUCKET, S3_KEY, startS3Server } from "../../support/s3-server.js";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.js";
import type { LedgerRow } from "./event-log.js";
import { MODEL, writePackage } from "./workload-model.js";
import { ask, readLedger } from "./ledger.js";

/** One process of the service, started anew as often as it is killed. */
export interface Member {
  readonly name: string;
  running: Running;
  /** All it printed, in all its lives. */
  said(): string;
  /** Starts it again once it has ended. */
  restart(): Promise<void>;
}

/** A whole service in processes of its own, over a real broker and database. */
export interface Service {
  readonly fronts: readonly Member[];
  readonly workers: readonly Member[];
  /** Between the workers and the broker. */
  readonly brokerProxy: TcpProxy;
  /** Between fronts and the database, and between all and the artifact store, where there are proxies. */
  readonly databaseProxy: TcpProxy;
  readonly storeProxy: TcpProxy;
  /** `DATA_DIR` of fronts and workers that have no other. */
  readonly dataDir: string;
  /** `rabbitmqctl` on the broker. */
  control(...words: readonly string[]): Promise<void>;
  /** What the next front answers, as text. */
  fetch(path: string, body?: object): Promise<{ readonly status: number; readonly text: string }>;
  /** Sends a request to the next front; undefined when that one is away. */
  request(path: string, body?: object, idempotencyKey?: string): Promise<Reply | undefined>;
  readLedger(): Promise<LedgerRow[]>;
  /** Asks the database that the ledger is in. */
  query<Row extends object>(question: string, values?: readonly unknown[]): Promise<Row[]>;
  /** gRPC address of each front. */
  readonly grpcAddresses: readonly string[];
  /** Keys of all files in the artifact store. */
  listFiles(): Promise<string[]>;
  readFile(key: string): Promise<string>;
  close(): Promise<void>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // Bodies are checked by whoever reads them.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

/** What makes a worker differ from the others. */
export interface WorkerKind {
  readonly environment?: Environment;
  /** Changes a copy of the build, which the worker then runs. */
  readonly rebuild?: (build: string) => Promise<void>;
  /** Where it runs; this machine where absent. */
  readonly host?: OwnHost;
}

export interface ServiceOptions {
  readonly fronts: number;
  /** With broker, database and an S3 server behind proxies for fronts and workers alike. */
  readonly hasProxies?: boolean;
  readonly workers: readonly WorkerKind[];
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const folder = await mkdtemp(join(tmpdir(), "framemill-chaos-"));
  const source = fileURLToPath(new URL("workload", import.meta.url));
  const cliPath = await buildWithModalities(folder, [{ name: "workload", source }]);
  await writePackage(join(folder, "models", MODEL));
  const brokerUrl = new URL(process.env["AMQP_URL"] ?? "");
  const brokerProxy = await startTcpProxy(Number(brokerUrl.port), brokerUrl.hostname);
  const throughProxy = new URL(brokerUrl);
  throughProxy.port = String(brokerProxy.port);
  const databaseUrl = await createPostgres();
  const own = new URL(databaseUrl);
  const databaseProxy = await startTcpProxy(Number(own.port), own.hostname);
  own.port = String(databaseProxy.port);
  const s3 = options.hasProxies === true ? await startS3Server(join(folder, "s3")) : undefined;
  const storeProxy = await startTcpProxy(Number(new URL(s3?.endpoint ?? brokerUrl).port));
  const keys = { accessKeyId: S3_KEY, secretAccessKey: S3_KEY };
  const store =
    s3 && createS3Store({ bucket: BUCKET, endpoint: s3.endpoint, region: "us-east-1", ...keys });
  const proxied: Environment =
    s3 === undefined
      ? {}
      : {
          AMQP_URL: throughProxy.href,
          DATABASE_URL: own.href,
          S3_BUCKET: BUCKET,
          S3_ENDPOINT: `http://127.0.0.1:${storeProxy.port}`,
          S3_ACCESS_KEY_ID: S3_KEY,
          S3_SECRET_ACCESS_KEY: S3_KEY,
        };
  const base: Environment = {
    AMQP_URL: brokerUrl.href,
    DATABASE_URL: databaseUrl,
    ...proxied,
    MODELS_DIR: join(folder, "models"),
    REQUESTS_PER_MINUTE: "100000",
    WORKER_TOKEN,
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
  const builds = await Promise.all(
    options.workers.map((kind, index) => buildOf(kind, cliPath, join(folder, `build-${index}`))),
  );
  const cables: TcpProxy[] = [];
  const reach = async (url: URL, { nearAddress }: OwnHost): Promise<string> => {
    const cable = await startTcpProxy(Number(url.port), url.hostname, nearAddress);
    cables.push(cable);
    return `${nearAddress}:${cable.port}`;
  };
  const reached = await Promise.all(
    options.workers.map(async ({ host }, index) => {
      const front = `127.0.0.1:${grpcPorts[index % grpcPorts.length]}`;
      if (host === undefined) return { AMQP_URL: throughProxy.href, FRONT_ADDRESS: front };
      const broker = new URL(brokerUrl);
      broker.host = await reach(brokerUrl, host);
      const address = await reach(new URL(`http://${front}`), host);
      return { AMQP_URL: broker.href, FRONT_ADDRESS: address };
    }),
  );
  const workers = options.workers.map(({ environment, host }, index) => {
    const env = environmentOf(dataDir, {
      ...base,
      ...reached[index],
      SCRATCH_DIR: join(folder, `scratch-${index}`),
      WORKER_ID: `worker-${index}`,
      THREADS: "1",
      ...environment,
    });
    const start = () => startProcess("worker", env, builds[index], host?.within);
    return member(`worker ${index}`, start, /worker ready/);
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
    databaseProxy,
    storeProxy,
    dataDir,
    async fetch(path, body) {
      turn += 1;
      const url = `http://127.0.0.1:${httpPorts[turn % httpPorts.length]}${path}`;
      const headers = {
        authorization: `Bearer ${stdout.trim()}`,
        "content-type": "application/json",
      };
      const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      const answer = await fetch(url, { headers, ...init });
      return { status: answer.status, text: await answer.text() };
    },
    async control(...words) {
      const [program = "", ...first] = (process.env["RABBITMQCTL"] ?? "").split(" ");
      await promisify(execFile)(program, [...first, ...words]);
    },
    async request(path, body, idempotencyKey) {
      turn += 1;
      const url = `http://127.0.0.1:${httpPorts[turn % httpPorts.length]}/v1${path}`;
      const once = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
      return await send(url, { authorization: `Bearer ${stdout.trim()}`, ...once }, body);
    },
    readLedger: () => readLedger(databaseUrl),
    query: (question, values) => ask(databaseUrl, question, values),
    grpcAddresses: grpcPorts.map((port) => `127.0.0.1:${port}`),
    async listFiles() {
      if (store !== undefined) return [...(await store.list(""))];
      const entries = await readdir(artifacts, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(artifacts.length + 1));
    },
    readFile: async (key) =>
      store === undefined
        ? await readFile(join(artifacts, key), "utf8")
        : Buffer.from(await store.readBytes(key)).toString(),
    async close() {
      for (const { running } of [...workers, ...fronts]) await running.stop("SIGKILL");
      const proxies = [brokerProxy, databaseProxy, storeProxy, ...cables];
      await store?.close();
      await s3?.close();
      await Promise.all(proxies.map((proxy) => proxy.close()));
      await dropPostgres(databaseUrl);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Command line of the build that a worker of this kind runs. */
async function buildOf({ rebuild }: WorkerKind, cliPath: string, copy: string): Promise<string> {
  if (rebuild === undefined) return cliPath;
  await cp(join(cliPath, "../../.."), copy, { recursive: true });
  await rebuild(copy);
  return join(copy, "dist/bin/framemill.js");
}

function member(name: string, start: () => Running, sign: RegExp) {
  const own = { name, running: start() };
  const ready = own.running.says(sign);
  const before: string[] = [];
  return Object.assign(own, {
    ready,
    said: () => [...before, own.running.output()].join(""),
    async restart() {
      before.push(own.running.output());
      own.running = start();
      await own.running.says(sign);
    },
  });
}

async function send(
  url: string,
  own: Readonly<Record<string, string>>,
  body?: object,
): Promise<Reply | undefined> {
  const headers = { ...own, "content-type": "application/json" };
  const signal = AbortSignal.timeout(5_000);
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  try {
    const response = await fetch(url, { headers, signal, ...init });
    return { status: response.status, headers: response.headers, json: await response.json() };
  } catch {
    return undefined;
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
