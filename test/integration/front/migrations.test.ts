import { tmpdir } from "node:os";
import { sql } from "#framemill/front/ledger/database/sql.js";
import { pino } from "pino";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  type Migrator,
  openDatabase,
  openMigrator,
} from "#framemill/front/ledger/database/database.js";
import { migrate } from "#framemill/front/ledger/database/schema.js";
import { MIGRATIONS } from "#framemill/front/ledger/database/migrations/migrations.js";
import {
  createJob,
  createPostgres,
  dropPostgres,
  SOON,
  startHarness,
} from "../../support/front-harness.js";
import { fillOldest, insertAsOldest, readShape, upTo } from "../../support/older-ledgers.js";

const log = pino({ level: "silent" });
const say = (): void => {};

let databaseUrl: string;
let db: Migrator;
beforeEach(async () => {
  databaseUrl = await createPostgres();
  db = openMigrator(databaseUrl);
});
afterEach(async () => {
  await db.close();
  await dropPostgres(databaseUrl);
});

const open = async () => await openDatabase({ databaseUrl, dataDir: tmpdir(), log });

it("brings a grown ledger of the oldest schema to what a new one has, while its fronts insert jobs", async () => {
  await migrate(db, { contract: false, say, migrations: upTo("2026-11-21-ledger") });
  await fillOldest(db, 12_000);
  await expect(open()).rejects.toThrow(/lacks 2026-11-21-replies, .* run `framemill migrate`/);
  await migrate(db, { contract: false, say });
  await insertAsOldest(db, "video_of_an_older_front");
  const { rows } = await sql<{ jobs: number; odd: number }>`SELECT count(*)::int AS jobs,
    count(*) FILTER (WHERE prices <> '{"videoSeconds": 180000}' OR work <> 4 OR tier <> 'standard'
      OR quoted_units <> '{"videoSeconds": 4}' OR released_at IS NULL)::int AS odd FROM jobs`.execute(
    db,
  );
  expect(rows).toEqual([{ jobs: 12_001, odd: 0 }]);
  const { rows: charges } = await sql`SELECT count(*)::int AS charges, count(model)::int AS models
    FROM charges WHERE prices = '{"videoSeconds": 180000}'`.execute(db);
  expect(charges).toEqual([{ charges: 12_000, models: 12_000 }]);
  await (await open()).close();
  await migrate(db, { contract: true, say });
  const fresh = await createPostgres();
  const freshDb = openMigrator(fresh);
  await migrate(freshDb, { contract: false, say });
  expect(await readShape(db)).toEqual(await readShape(freshDb));
  await freshDb.close();
  await dropPostgres(fresh);
});

it("serves on a schema of a later release, and not on one whose major it does not know", async () => {
  const harness = await startHarness("postgres");
  const later = [sql`ALTER TABLE jobs ADD COLUMN later text`];
  const own = openMigrator(harness.config.databaseUrl ?? "");
  await migrate(own, { contract: false, say, migrations: { ...MIGRATIONS, "9999-later": later } });
  const front = await harness.startReplica();
  await createJob(front, harness.account.key);
  await sql`UPDATE schema_migrations SET major = 2 WHERE name = '9999-later'`.execute(
    harness.database,
  );
  await expect(harness.startReplica()).rejects.toThrow("schema is of major 2 (9999-later)");
  await own.close();
  await harness.close();
});

it("names the migration that failed and why, and resumes there the next time", async () => {
  const wrong = [sql`ALTER TABLE nowhere ADD COLUMN a int`];
  const migrations = { ...MIGRATIONS, "9999-wrong": wrong };
  await expect(migrate(db, { contract: false, say, migrations })).rejects.toThrow(
    'migration 9999-wrong failed: relation "nowhere" does not exist',
  );
  await sql`CREATE TABLE nowhere ()`.execute(db);
  const said: string[] = [];
  await migrate(db, { contract: false, say: (line) => said.push(line), migrations });
  expect(said).toEqual([expect.stringMatching(/^9999-wrong: done in/)]);
});

it("lets writers pass while it waits for a transaction that holds the table", async () => {
  await migrate(db, { contract: false, say });
  const harness = await open();
  await harness.session(async (holder) => {
    await sql`BEGIN`.execute(holder);
    await sql`SELECT FROM jobs LIMIT 1`.execute(holder);
    const change = [sql`ALTER TABLE jobs ADD COLUMN later text`];
    const migrations = { ...MIGRATIONS, "9999-change": change };
    const migrating = migrate(db, { contract: false, say, migrations });
    const waits = async () =>
      (await sql`SELECT FROM pg_locks WHERE NOT granted`.execute(harness)).rows.length;
    await expect.poll(waits, SOON).toBeGreaterThan(0);
    // Behind an ALTER that waited on, this would wait for as long.
    for (let round = 0; round < 5; round += 1)
      await sql`UPDATE jobs SET progress = 1 WHERE id = 'none'`.execute(harness);
    await sql`COMMIT`.execute(holder);
    await migrating;
  });
  await harness.close();
});
