import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Db, sql } from "#framemill/front/ledger/database/sql.js";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabase, type Database } from "#framemill/front/ledger/database/database.js";
import { createReporter } from "#framemill/rpc/reporter.js";
import {
  completion,
  countCharges,
  createJob,
  createPostgres,
  dropPostgres,
  ENGINES,
  SOON,
  startHarness,
  upload,
  WORKER_TOKEN,
} from "../../support/front-harness.js";
import { createGate } from "../../support/queue-harness.js";
import { startTcpProxy } from "../../support/tcp-proxy.js";

const log = pino({ level: "silent" });
/** Above the highest number of a process. */
const NO_PROCESS = "4194305";

describe.each(ENGINES)("the database over %s", (engine) => {
  let dataDir: string;
  let databaseUrl: string | undefined;
  let database: Database;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "framemill-database-"));
    databaseUrl = engine === "postgres" ? await createPostgres() : undefined;
    database = await openDatabase({ databaseUrl, dataDir, log });
  });
  afterAll(async () => {
    await database?.close();
    if (databaseUrl !== undefined) await dropPostgres(databaseUrl);
    await rm(dataDir, { recursive: true, force: true });
  });

  it("keeps what was committed when it is opened again after a kill, and migrates once", async () => {
    await insertProject(database, "a");
    await database.close();
    // As a process leaves it that was killed.
    await writeFile(join(dataDir, "owner.pid"), NO_PROCESS);
    database = await openDatabase({ databaseUrl, dataDir, log });
    expect(await countProjects(database)).toBe(1);
    const owner = await readFile(join(dataDir, "owner.pid"), "utf8");
    expect(owner).toBe(engine === "pglite" ? String(process.pid) : NO_PROCESS);
  });

  it("keeps transactions apart, and undoes the failed one only", async () => {
    const before = await countProjects(database);
    const [inside, leave] = [createGate(), createGate()];
    const failed = database.transaction(async (trx) => {
      await insertProject(trx, "undone");
      inside.open();
      await leave.opened;
      throw new Error("undo");
    });
    await inside.opened;
    const others = Promise.all(
      Array.from({ length: 20 }, (_, index) => insertProject(database, `p${index}`)),
    );
    // Postgres takes them meanwhile; PGlite has one session, for which they wait.
    if (engine === "postgres") await others;
    leave.open();
    await expect(failed).rejects.toThrow("undo");
    await others;
    expect(await countProjects(database)).toBe(before + 20);
  });

  it("notifies listeners of what was committed, and not of what was rolled back", async () => {
    const payloads: string[] = [];
    const stop = await database.listen("framemill_jobs", (payload) => payloads.push(payload));
    const say = (word: string) =>
      sql`SELECT pg_notify('framemill_jobs', ${word})`.execute(database);
    const begun = async () => (await say("begun"), payloads.length);
    await expect.poll(begun, SOON).toBeGreaterThan(0);
    const undone = database.transaction(async (trx) => {
      await sql`SELECT pg_notify('framemill_jobs', 'undone')`.execute(trx);
      throw new Error("undo");
    });
    await expect(undone).rejects.toThrow("undo");
    await say("done");
    await expect.poll(() => payloads.at(-1), SOON).toBe("done");
    expect(new Set(payloads)).toEqual(new Set(["begun", "done"]));
    await stop();
  });
});

it("refuses a data folder that another process uses", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "framemill-owner-"));
  await writeFile(join(dataDir, "owner.pid"), String(process.ppid));
  await expect(openDatabase({ dataDir, log })).rejects.toThrow(`in use by process ${process.ppid}`);
  await rm(dataDir, { recursive: true });
});

it("lets replicas that start at the same time migrate one after the other", async () => {
  const databaseUrl = await createPostgres();
  const dataDir = tmpdir();
  const opened = await Promise.all(
    Array.from({ length: 4 }, () => openDatabase({ databaseUrl, dataDir, log })),
  );
  expect(await Promise.all(opened.map(countProjects))).toEqual([0, 0, 0, 0]);
  for (const database of opened) await database.close();
  await dropPostgres(databaseUrl);
});

it("plans a statement once a session, but for one that returns whatever columns a table has", async () => {
  const databaseUrl = await createPostgres();
  const database = await openDatabase({ databaseUrl, dataDir: tmpdir(), log });
  await insertProject(database, "a");
  const planned = await database.session(async (session) => {
    // As claims, completions and insertions begin.
    await sql`WITH asked AS (SELECT * FROM unnest(${["a"]}::text[]) AS asked (id))
      SELECT projects.name FROM projects JOIN asked USING (id)`.execute(session);
    await sql`SELECT * FROM projects WHERE id = ${"a"}`.execute(session);
    const { rows } = await sql<{ statement: string }>`
      SELECT statement FROM pg_prepared_statements WHERE statement ~ ${"projects"}`.execute(
      session,
    );
    return rows.map(({ statement }) => statement.replaceAll(/\s+/g, " ").slice(0, 24));
  });
  expect(planned).toContain("WITH asked AS (SELECT * ");
  expect(planned).not.toContain("SELECT * FROM projects W");
  await database.close();
  await dropPostgres(databaseUrl);
});

it("recovers when connections are reset in the middle of statements and transactions", async () => {
  const databaseUrl = await createPostgres();
  const url = new URL(databaseUrl);
  const proxy = await startTcpProxy(Number(url.port), url.hostname);
  url.port = String(proxy.port);
  const database = await openDatabase({ databaseUrl: url.href, dataDir: tmpdir(), log });
  const [inside, cut] = [createGate(), createGate()];
  const between = database.transaction(async (trx) => {
    await insertProject(trx, "undone");
    inside.open();
    await cut.opened;
    await insertProject(trx, "never");
  });
  const amid = sql`SELECT pg_sleep(60)`.execute(database);
  await inside.opened;
  const ends = Promise.allSettled([between, amid]);
  await proxy.cut();
  cut.open();
  expect((await ends).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await proxy.restore();
  const count = () => countProjects(database).catch(() => "away");
  await expect.poll(count, SOON).toBe(0);
  await database.close();
  await proxy.close();
  await dropPostgres(databaseUrl);
});

it("is unavailable to workers during an outage: their reports are taken after it", async () => {
  const harness = await startHarness("postgres");
  const url = new URL(harness.config.databaseUrl ?? "");
  const proxy = await startTcpProxy(Number(url.port), url.hostname);
  url.port = String(proxy.port);
  const config = { ...harness.config, databaseUrl: url.href };
  const front = await harness.startReplica({ config });
  const reporter = createReporter({ address: `127.0.0.1:${front.grpcPort}`, token: WORKER_TOKEN });
  const id = await createJob(front, harness.account.key);
  const claim = await reporter.claim(id, "worker-1");
  if (claim.outcome !== "leased") throw new Error(`no lease: ${claim.outcome}`);
  const files = await upload(harness.store, claim.lease, Buffer.from("a clip"));
  const report = completion(claim.lease, files);
  await proxy.cut();
  await expect(reporter.complete(report)).rejects.toMatchObject({ code: "service_unavailable" });
  await proxy.restore();
  const complete = () =>
    reporter.complete(report).then(
      ({ outcome }) => outcome,
      () => "away",
    );
  await expect.poll(complete, SOON).toBe("recorded");
  expect(await countCharges(harness.database, id)).toBe(1);
  await reporter.close();
  await harness.close();
  await proxy.close();
});

async function insertProject(db: Db, id: string): Promise<void> {
  await sql`INSERT INTO projects (id, name, requests_per_minute, tokens_per_minute)
    VALUES (${id}, ${id}, 1, 1)`.execute(db);
}

async function countProjects(db: Database): Promise<number> {
  const { rows } = await sql<{
    count: number;
  }>`SELECT count(*)::int AS count FROM projects`.execute(db);
  return rows[0]?.count ?? -1;
}
