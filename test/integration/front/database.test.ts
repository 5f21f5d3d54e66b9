import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { openDatabase, type Database } from "#framemill/front/database.js";
import { createPostgres, dropPostgres, ENGINES } from "../../support/front-harness.js";

const log = pino({ level: "silent" });

describe.each(ENGINES)("the database over %s", (engine) => {
  const withDatabase = async (
    test: (open: () => Promise<Database>) => Promise<void>,
  ): Promise<void> => {
    const dataDir = await mkdtemp(join(tmpdir(), "framemill-database-"));
    const databaseUrl = engine === "postgres" ? await createPostgres() : undefined;
    try {
      await test(() => openDatabase({ databaseUrl, dataDir, log }));
    } finally {
      if (databaseUrl !== undefined) await dropPostgres(databaseUrl);
      await rm(dataDir, { recursive: true, force: true });
    }
  };

  it("keeps what was committed when it is opened again, and migrates once", async () => {
    await withDatabase(async (open) => {
      const first = await open();
      await insertProject(first, "a");
      await first.close();
      const again = await open();
      expect(await countProjects(again)).toBe(1);
      await again.close();
    });
  });

  it("keeps transactions apart, and undoes the failed one only", async () => {
    await withDatabase(async (open) => {
      const database = await open();
      const failed = database.kysely.transaction().execute(async (trx) => {
        await insertProject({ ...database, kysely: trx }, "undone");
        await new Promise((resolve) => setTimeout(resolve, 50));
        throw new Error("undo");
      });
      const others = Array.from({ length: 20 }, (_, index) => insertProject(database, `p${index}`));
      await expect(failed).rejects.toThrow("undo");
      await Promise.all(others);
      expect(await countProjects(database)).toBe(20);
      await database.close();
    });
  });

  it("tells listeners what was committed, and not what was undone", async () => {
    await withDatabase(async (open) => {
      const database = await open();
      const heard: string[] = [];
      const stop = await database.listen("framemill_jobs", (payload) => heard.push(payload));
      const undone = database.kysely.transaction().execute(async (trx) => {
        await sql`SELECT pg_notify('framemill_jobs', 'undone')`.execute(trx);
        throw new Error("undo");
      });
      await expect(undone).rejects.toThrow("undo");
      await expect
        .poll(async () => {
          await sql`SELECT pg_notify('framemill_jobs', 'done')`.execute(database.kysely);
          return heard.length;
        })
        .toBeGreaterThan(0);
      expect(new Set(heard)).toEqual(new Set(["done"]));
      await stop();
      await database.close();
    });
  });
});

it("refuses a data folder that another process uses, and takes one whose owner is gone", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "framemill-owner-"));
  const owner = join(dataDir, "owner.pid");
  await writeFile(owner, String(process.ppid));
  await expect(openDatabase({ dataDir, log })).rejects.toThrow(`in use by process ${process.ppid}`);
  await writeFile(owner, "4194305");
  const database = await openDatabase({ dataDir, log });
  expect(await readFile(owner, "utf8")).toBe(String(process.pid));
  await database.close();
  await rm(dataDir, { recursive: true });
});

it("lets replicas that start together migrate one after the other", async () => {
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
  const planned = await database.kysely.connection().execute(async (session) => {
    // As claims, completions and insertions begin.
    await sql`WITH asked AS (SELECT * FROM unnest(${["a"]}::text[]) AS asked (id))
      SELECT projects.name FROM projects JOIN asked USING (id)`.execute(session);
    await session.selectFrom("projects").selectAll().where("id", "=", "a").execute();
    const { rows } = await sql<{ statement: string }>`
      SELECT statement FROM pg_prepared_statements WHERE statement ~ ${"projects"}`.execute(
      session,
    );
    return rows.map(({ statement }) => statement.replaceAll(/\s+/g, " ").slice(0, 24));
  });
  expect(planned).toContain("WITH asked AS (SELECT * ");
  expect(planned).not.toContain('select * from "projects"');
  await database.close();
  await dropPostgres(databaseUrl);
});

async function insertProject({ kysely }: Database, id: string): Promise<void> {
  const limits = { requests_per_minute: 1, tokens_per_minute: 1, monthly_limit_micro_usd: null };
  await kysely
    .insertInto("projects")
    .values({ id, name: id, ...limits })
    .execute();
}

async function countProjects({ kysely }: Database): Promise<number> {
  const { rows } = await sql<{
    count: number;
  }>`SELECT count(*)::int AS count FROM projects`.execute(kysely);
  return rows[0]?.count ?? -1;
}
