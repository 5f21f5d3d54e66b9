import { setTimeout as sleep } from "node:timers/promises";
import { type Db, sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Migrator, openMigrator } from "#framemill/front/ledger/database/database.js";
import type { Front } from "#framemill/front/front.js";
import { migrate } from "#framemill/front/ledger/database/schema.js";
import { rollUpUsage } from "#framemill/front/ledger/usage-rollup.js";
import { summariseUsage } from "#framemill/front/operations/usage.js";
import type { Broker } from "#framemill/queue/broker.js";
import { createEmbeddedBroker } from "#framemill/queue/embedded.js";
import type { Worker } from "#framemill/worker/worker.js";
import {
  type Answer,
  BODY,
  call,
  createPostgres,
  dropPostgres,
  type Harness,
  REPLY_MODELS,
  startHarness,
} from "../../support/front-harness.js";
import { type Script, startScriptedWorker } from "../../support/front-workers.js";
import { growLedger } from "../../support/grown-ledger.js";
import { countOf, limitOf, noteVerdict } from "./verdicts.js";

const JOBS = countOf({ short: 100_000, full: 5_000_000 });
const ROUNDS = countOf({ short: 60, full: 300 });
const DAYS = 30;
const MINUTE_MS = 60_000;
const SCRAPE_MS = limitOf(200);
const USAGE_MS = limitOf(300);
const RATIO = limitOf(1.1);

interface Service {
  readonly front: Front;
  readonly key: string;
}

const embedNothing: Script = async function* () {
  const vectors = Buffer.from(Float32Array.of(0.6, 0.8).buffer).toString("base64");
  yield { type: "output", output: { dimensions: 2, vectors, inputTokens: 3 } };
};

let harness: Harness;
let workers: readonly Worker[];
let broker: Broker;
let databaseUrl: string;
let db: Db;
let empty: Service;
let grown: Service;
beforeAll(async () => {
  databaseUrl = await createPostgres();
  await grow(openMigrator(databaseUrl));
  harness = await startHarness("postgres");
  // Another service: its queue has its jobs only.
  broker = createEmbeddedBroker();
  const config = { ...harness.config, databaseUrl };
  const front = await harness.startReplica({ config, broker });
  db = front.database;
  const project = await front.keys.createProject("test", {});
  grown = { front, key: (await front.keys.createKey(project.id, "test")).key };
  empty = { front: harness.front, key: harness.account.key };
  workers = [
    await startScriptedWorker(harness, embedNothing),
    await startScriptedWorker({ ...harness, broker, front }, embedNothing),
  ];
}, 60 * MINUTE_MS);
afterAll(async () => {
  for (const worker of workers ?? []) await worker.stop();
  await harness?.close();
  await broker?.close();
  if (databaseUrl !== undefined) await dropPostgres(databaseUrl);
});

/** A ledger of before there were totals, brought up to date. */
async function grow(migrator: Migrator): Promise<void> {
  const options = { contract: false, say: () => {} };
  await migrate(migrator, options);
  const beganAtMs = performance.now();
  await growLedger(migrator, { jobs: JOBS, days: DAYS });
  process.stdout.write(`${JOBS} jobs made in ${Math.round(performance.now() - beganAtMs)} ms\n`);
  await sql`DELETE FROM schema_migrations WHERE name = '2026-11-22h-totals'`.execute(migrator);
  await migrate(migrator, options);
  await migrator.close();
}

it(
  "T26: a ledger of millions is scraped, summed and served as fast as an empty one",
  { timeout: 60 * MINUTE_MS },
  async () => {
    await catchUp();
    const all = [grown, empty] as const;
    const times = {
      scrape: all.map((): number[] => []),
      usage: all.map((): number[] => []),
      embeddings: all.map((): number[] => []),
      creations: all.map((): number[] => []),
    };
    for (let round = 0; round < ROUNDS; round += 1)
      for (const [index, service] of all.entries()) {
        times.embeddings[index]?.push(await timed(() => embed(service)));
        times.creations[index]?.push(await timed(() => createAndCancel(service)));
        if (round % 10 > 0) continue;
        // No earlier reading is served again.
        await sleep(2_100);
        times.scrape[index]?.push(await timed(() => scrape(service)));
        times.usage[index]?.push(await timed(() => readUsage(service)));
      }
    const rows = Object.entries(times).map(([name, [large = [], small = []]]) => ({
      name,
      grown: median(large),
      empty: median(small),
      worst: Math.max(...large),
    }));
    const of = (name: string) =>
      rows.find((row) => row.name === name) ?? { grown: 0, empty: 1, worst: 0 };
    const slower = (name: string) => of(name).grown / of(name).empty;
    const text = rows
      .map(
        ({ name, grown: large, empty: small, worst }) =>
          `${name} ${large.toFixed(1)} / ${small.toFixed(1)} ms (× ${(large / small).toFixed(2)}, worst ${worst.toFixed(0)})`,
      )
      .join(", ");
    const limits = {
      scrape: of("scrape").worst <= SCRAPE_MS,
      usage: of("usage").worst <= USAGE_MS,
      embeddings: slower("embeddings") <= RATIO,
      creations: slower("creations") <= RATIO,
    };
    await noteVerdict({
      promise: "T26",
      injected: `${JOBS} jobs of ${DAYS} days, ${ROUNDS} requests of each kind in turns with an empty ledger`,
      counted: text,
      holds: Object.values(limits).every(Boolean),
    });
    expect(limits).toEqual({ scrape: true, usage: true, embeddings: true, creations: true });
    const metrics = await scrape(grown);
    expect(metrics).toContain("framemill_ledger_up 1");
    expect(metrics).toContain("framemill_ledger_history_up 1");
    expect(metrics).toContain(`framemill_attempts{outcome="lost"} ${JOBS / 50}`);
  },
);

/** As it is once the fronts have been at work for some minutes. */
async function catchUp(): Promise<void> {
  const isDone = async () => {
    const { rows } = await sql<{ done: boolean }>`SELECT rolled_until > now() - interval '4 minutes'
      AS done FROM usage_rollup`.execute(db);
    return rows[0]?.done === true;
  };
  while (!(await isDone())) await rollUpUsage(db);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beganAtMs = performance.now();
  await work();
  return performance.now() - beganAtMs;
}

async function embed({ front, key }: Service): Promise<void> {
  const body = { model: REPLY_MODELS.embeddings, input: "a fox" };
  succeed(await call(`${front.baseUrl}/embeddings`, { key, body }));
}

async function createAndCancel({ front, key }: Service): Promise<void> {
  seed += 1;
  const created = await call(`${front.baseUrl}/videos`, { key, body: { ...BODY, seed } });
  succeed(created);
  const url = `${front.baseUrl}/videos/${created.json.id}/cancel`;
  succeed(await call(url, { key, method: "POST" }));
}

let seed = 0;

function succeed({ status, text }: Answer): void {
  if (status !== 200) throw new Error(text);
}

async function scrape({ front }: Service): Promise<string> {
  return (await call(`${front.origin}/metrics`)).text;
}

async function readUsage({ front }: Service): Promise<void> {
  const since = new Date(Date.now() - DAYS * 86_400_000).toISOString();
  await summariseUsage(front.database, { since });
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? NaN;
}
