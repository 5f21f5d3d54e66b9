import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "#framemill/front/ledger/database/sql.js";
import OpenAI from "openai";
import { Client } from "pg";
import { pino } from "pino";
import { loadConfig, type Config } from "#framemill/config.js";
import type { Artifact } from "#framemill/core/artifact.js";
import type { Job, Lease } from "#framemill/core/job.js";
import type { ModelInfo } from "#framemill/core/modality.js";
import type { CompletionReport } from "#framemill/core/reports.js";
import { openDatabase, type Database } from "#framemill/front/ledger/database/database.js";
import {
  projectDefaults,
  startFront,
  type Front,
  type FrontOptions,
} from "#framemill/front/front.js";
import { createKeys, type Project, type ProjectLimits } from "#framemill/front/ledger/keys.js";
import type { Broker } from "#framemill/queue/broker.js";
import { createEmbeddedBroker } from "#framemill/queue/embedded.js";
import type { ArtifactStore } from "#framemill/storage/artifact-store.js";
import { createLocalStore } from "#framemill/storage/local.js";

export const ENGINES = ["pglite", "postgres"] as const;
export type Engine = (typeof ENGINES)[number];
/** What the tests stand on: Postgres, or with FRAMEMILL_TEST_STACK=embedded what `framemill up` has. */
export const ENGINE: Engine =
  process.env["FRAMEMILL_TEST_STACK"] === "embedded" ? "pglite" : "postgres";
/** What opens the fronts' gRPC. */
export const WORKER_TOKEN = "the-worker-token-of-tests";
/** For `expect.poll`: only a broken test waits this long. */
export const SOON = { timeout: 60_000, interval: 20 } as const;
export const MODEL = "service-motion-1";
export const BODY = { model: MODEL, prompt: "a fox in the snow", seconds: 4 };
/** A picture of 64 × 64 pixels. */
export const PNG_URL =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsItkJKMZ1Qi+hcEKLNXzWgQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQELgsNDAEecYyFpQAAAABJRU5ErkJggg==";
/** Models of replied jobs; `unattended` is one that no worker of a test takes jobs of. */
export const REPLY_MODELS = {
  chat: "service-words-1",
  unattended: "service-words-2",
  embeddings: "service-vectors-1",
  moderation: "service-judge-1",
  image: "service-pictures-1",
  speech: "service-voice-1",
} as const;
const MODELS: readonly ModelInfo[] = [
  { id: MODEL, modality: "video", concurrency: 1, createdAtSeconds: 1_790_000_000 },
  ...Object.entries(REPLY_MODELS).map(([name, id]) => ({
    id,
    modality: name === "unattended" ? "chat" : name,
    concurrency: 8,
    createdAtSeconds: 1_790_000_000,
    contextTokens: 4_096,
  })),
];

export interface Account {
  readonly project: Project;
  readonly key: string;
  readonly keyId: string;
}

export interface Harness {
  readonly front: Front;
  readonly config: Config;
  readonly models: readonly ModelInfo[];
  /** What fronts have sent to the harness's broker. */
  readonly published: readonly Job[];
  readonly database: Database;
  readonly broker: Broker;
  readonly store: ArtifactStore;
  readonly account: Account;
  /** Everything logged so far. */
  logged(): string;
  /** Another replica over the same ledger. */
  startReplica(options?: Partial<FrontOptions>): Promise<Front>;
  createAccount(limits?: Partial<ProjectLimits>): Promise<Account>;
  close(): Promise<void>;
}

export async function startHarness(
  engine: Engine = ENGINE,
  settings: Partial<Config> = {},
): Promise<Harness> {
  const dataDir = await mkdtemp(join(tmpdir(), "framemill-front-"));
  const databaseUrl = engine === "postgres" ? await createPostgres() : undefined;
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const log = pino({ level: "trace" }, stream);
  const config: Config = loadConfig(
    {
      dataDir,
      databaseUrl,
      port: 0,
      grpcPort: 0,
      requestsPerMinute: 100_000,
      webhookAllowPrivate: true,
      workerToken: WORKER_TOKEN,
      ...settings,
    },
    {},
  );
  const models = MODELS;
  const published: Job[] = [];
  const broker = createEmbeddedBroker();
  const publish = broker.publish.bind(broker);
  broker.publish = async (key, job, sending) => {
    published.push(job);
    await publish(key, job, sending);
  };
  const store = createLocalStore(join(dataDir, "artifacts"));
  const database = await openDatabase({ databaseUrl, dataDir, log });
  const fronts: Front[] = [];
  const startReplica = async (options: Partial<FrontOptions> = {}): Promise<Front> => {
    // On Postgres a replica has connections of its own; PGlite lives in one process.
    const own = engine === "postgres" ? {} : { database };
    const front = await startFront({ config, broker, store, models, log, ...own, ...options });
    fronts.push(front);
    return front;
  };
  const front = await startReplica();
  const createAccount = async (limits: Partial<ProjectLimits> = {}): Promise<Account> => {
    const project = await front.keys.createProject("test", limits);
    const { id: keyId, key } = await front.keys.createKey(project.id, "test");
    return { project, key, keyId };
  };
  return {
    front,
    config,
    models,
    published,
    database,
    broker,
    store,
    account: await createAccount(),
    logged: () => lines.join(""),
    startReplica,
    createAccount,
    async close() {
      for (const open of fronts) await open.close();
      await broker.close();
      await database.close();
      // A look at the store that outlived its time limit may still be writing its probe.
      await rm(dataDir, { recursive: true, force: true, maxRetries: 10 });
      if (databaseUrl !== undefined) await dropPostgres(databaseUrl);
    },
  };
}

/** A database of its own on the server that DATABASE_URL names. */
export async function createPostgres(): Promise<string> {
  const name = `front_${randomBytes(6).toString("hex")}`;
  await onServer((client) => client.query(`CREATE DATABASE ${name}`));
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  return url.href;
}

export async function dropPostgres(databaseUrl: string): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  await onServer((client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
}

/** Where a process keeps its jobs, by what the tests stand on. */
export interface Ledger {
  /** What to add to the process's environment. */
  readonly environment: Readonly<Record<string, string>>;
  drop(): Promise<void>;
}

export async function createLedger(): Promise<Ledger> {
  if (ENGINE === "pglite") return { environment: {}, drop: async () => {} };
  const databaseUrl = await createPostgres();
  return {
    environment: { DATABASE_URL: databaseUrl },
    drop: () => dropPostgres(databaseUrl),
  };
}

/** A ledger without a front, whose janitor would sum what a test puts into the past. */
export async function openLedger() {
  const dataDir = await mkdtemp(join(tmpdir(), "framemill-ledger-"));
  const databaseUrl = ENGINE === "postgres" ? await createPostgres() : undefined;
  const database = await openDatabase({ databaseUrl, dataDir, log: pino({ level: "silent" }) });
  const defaults = projectDefaults(loadConfig({ dataDir }, {}));
  return {
    database,
    keys: createKeys({ database, defaults, randomBytes }),
    close: async (): Promise<void> => {
      await database.close();
      await rm(dataDir, { recursive: true, force: true });
      if (databaseUrl !== undefined) await dropPostgres(databaseUrl);
    },
  };
}

async function onServer(work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: serverUrl() });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

function serverUrl(): string {
  const url = process.env["DATABASE_URL"];
  if (url === undefined) throw new Error("DATABASE_URL must name a Postgres server for this test");
  return url;
}

export interface CallOptions {
  readonly key?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string or bytes are sent as they are, an object as JSON. */
  readonly body?: string | Uint8Array | FormData | object;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // Bodies are checked by the test that reads them.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

/** One HTTP request; a body makes it a POST. */
export async function call(url: string, options: CallOptions = {}): Promise<Answer> {
  const { body, method = body === undefined ? "GET" : "POST" } = options;
  const init = { method, headers: headersOf(options) };
  const raw = typeof body === "string" || body instanceof Uint8Array || body instanceof FormData;
  const content = raw ? body : JSON.stringify(body);
  const response = await fetch(
    url,
    body === undefined ? init : { ...init, body: content as string },
  );
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  const json: unknown = isJson && text !== "" ? JSON.parse(text) : undefined;
  return { status: response.status, headers: response.headers, text, json };
}

function headersOf({ key, body, headers }: CallOptions): Record<string, string> {
  const typed = body !== undefined && !(body instanceof FormData);
  return {
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(typed && { "content-type": "application/json" }),
    ...headers,
  };
}

export function openaiClient(front: Front, key: string, maxRetries = 0): OpenAI {
  return new OpenAI({ apiKey: key, baseURL: front.baseUrl, maxRetries });
}

/** Creates a job and returns its id. */
export async function createJob(front: Front, key: string, body: object = BODY): Promise<string> {
  const answer = await call(`${front.baseUrl}/videos`, { key, body });
  if (answer.status !== 200) throw new Error(`job refused: ${answer.text}`);
  return answer.json.id as string;
}

/** Asks again where another project's job goes first, as the job's next message would. */
export async function claim(front: Front, jobId: string, workerId = "worker-1"): Promise<Lease> {
  const end = performance.now() + SOON.timeout;
  for (;;) {
    const result = await front.handlers.claim(jobId, workerId);
    if (result.outcome === "leased") return result.lease;
    if (performance.now() > end) throw new Error(`no lease: ${result.outcome}`);
    await sleep(SOON.interval);
  }
}

/** What a worker reports of a clip of `seconds` seconds. */
export function completion(
  lease: Lease,
  artifacts: readonly Artifact[],
  seconds = 4,
): CompletionReport {
  return {
    jobId: lease.jobId,
    token: lease.token,
    usage: { videoSeconds: seconds, gpuMs: 1_234 },
    cost: { prices: lease.prices, amountMicroUsd: seconds * (lease.prices.videoSeconds ?? 0) },
    artifacts,
    output: { frameCount: seconds * 24 },
  };
}

export async function upload(
  store: ArtifactStore,
  lease: Lease,
  bytes: Uint8Array,
): Promise<Artifact[]> {
  const put = (variant: string, extension: string, mediaType: string) =>
    store.putBytes(
      { id: `${lease.jobId}/${lease.attempt}/${variant}.${extension}`, variant, mediaType },
      bytes,
    );
  return [await put("content", "mp4", "video/mp4"), await put("thumbnail", "webp", "image/webp")];
}

/** A job from creation to completion; returns its id. */
export async function makeClip(
  { front, store }: Harness,
  key: string,
  bytes: Uint8Array = Buffer.from("0123456789"),
): Promise<string> {
  const id = await createJob(front, key);
  const lease = await claim(front, id);
  await front.handlers.complete(completion(lease, await upload(store, lease, bytes)));
  return id;
}

export async function countCharges(db: Database, jobId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`SELECT count(*)::int AS count FROM charges
    WHERE job_id = ${jobId}`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Lets the lease of a job end now. */
export async function lapse(db: Database, jobId: string): Promise<void> {
  await sql`UPDATE jobs SET lease_until = now() - interval '1 second' WHERE id = ${jobId}`.execute(
    db,
  );
}

/** A replica's janitor goes round before it listens to anybody; closing waits for its round. */
export async function janitorRuns({ startReplica }: Pick<Harness, "startReplica">): Promise<void> {
  await (await startReplica()).close();
}
