import { readFileSync } from "node:fs";
import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openMigrator } from "#framemill/front/ledger/database/database.js";
import { ENGINE, startHarness, type Harness } from "../../support/front-harness.js";
import { growLedger } from "../../support/grown-ledger.js";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(async () => await harness?.close());

const page = readFileSync(new URL("../../../docs/job-states.md", import.meta.url), "utf8");

/** Cells of the page, and the values that they allow. */
const ALLOWED: Readonly<Record<string, readonly unknown[]>> = {
  "–": [null],
  set: ["now"],
  any: [null, "now"],
  future: ["infinity"],
  past: ["-infinity"],
  "0": [0],
  "1…": [1],
};
const TIMES = [null, "now"];
const COLUMNS = {
  state: ["queued", "in_progress", "completed", "failed"],
  token: [0, 1],
  released_at: TIMES,
  started_at: TIMES,
  lease_until: [null, "infinity", "-infinity"],
  ended_at: TIMES,
  failure: TIMES,
  deleted_at: TIMES,
  worker_id: [null, "worker-1"],
} as const;

/** Every combination of one value of each. */
function combine(values: readonly (readonly unknown[])[]): unknown[][] {
  return values.reduce<unknown[][]>(
    (rows, choices) => rows.flatMap((row) => choices.map((choice) => [...row, choice])),
    [[]],
  );
}

/** The rows that the page's table of states allows, each as text. */
function legalRows(): Set<string> {
  const lines = [
    ...page.matchAll(/^\| [a-z, ]+ \| (queued|in_progress|completed|failed) \| (.*) \|$/gm),
  ];
  expect(lines).toHaveLength(11);
  return new Set(
    lines.flatMap(([, state = "", cells = ""]) => {
      const choices = cells.split(" | ").map((cell) => ALLOWED[cell] ?? [cell]);
      // A lease and the name of its worker come and go together.
      return combine([[state], ...choices]).map((row) =>
        JSON.stringify([...row, row[4] === null ? null : "worker-1"]),
      );
    }),
  );
}

it("takes the rows that the page of the states allows, and refuses all others", async () => {
  const db = harness.database;
  const { project, keyId } = harness.account;
  const rows = combine(Object.values(COLUMNS)).map((row) => JSON.stringify(row));
  // One function for all: a refused insertion each would be as many round trips.
  await sql`CREATE FUNCTION takes(row_of jsonb, of_project text, by_key text) RETURNS boolean
    LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO jobs (id, project_id, api_key_id, modality, model, request, tier, prices, quoted_units,
        work, amount_micro_usd, body_hash, deadline_at, republish_after, state, token, released_at,
        started_at, lease_until, ended_at, failure, deleted_at, worker_id, files_removed)
      VALUES (md5(row_of::text), of_project, by_key, 'video', 'rows', '{}', '', '{}', '{}', 4, 4, '',
        'infinity', 'infinity', row_of->>0, (row_of->>1)::int, (row_of->>2)::timestamptz,
        (row_of->>3)::timestamptz, (row_of->>4)::timestamptz, (row_of->>5)::timestamptz,
        to_jsonb(row_of->>6), (row_of->>7)::timestamptz, row_of->>8, true);
      DELETE FROM jobs WHERE id = md5(row_of::text);
      RETURN true;
    EXCEPTION WHEN check_violation THEN RETURN false; END $$`.execute(db);
  const { rows: taken } = await sql<{ row: string }>`
    SELECT row FROM unnest(${rows}::text[]) AS row
    WHERE takes(row::jsonb, ${project.id}, ${keyId})`.execute(db);
  expect(new Set(taken.map(({ row }) => row))).toEqual(legalRows());
  expect(rows.length).toBeGreaterThan(10 * taken.length);
});

interface Plan {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly Alias?: string;
  readonly "Index Name"?: string;
  readonly Plans?: readonly Plan[];
}

function scansOf(plan: Plan): Plan[] {
  const own = plan["Node Type"].includes("Scan") ? [plan] : [];
  return [...own, ...(plan.Plans ?? []).flatMap(scansOf)];
}

/** The statement as psql has it with its variables set. */
function paste(name: string, values: Readonly<Record<string, string>>): string {
  const path = new URL(`../../../src/front/ledger/sql/${name}.sql`, import.meta.url);
  return readFileSync(path, "utf8").replaceAll(
    /(?<!:):([a-z]\w*)/g,
    (written, parameter: string) => values[parameter] ?? written,
  );
}

it.runIf(ENGINE === "postgres")(
  "finds the jobs of a claim by their ids, and its neighbours by the indexes made for them",
  async () => {
    const db = harness.database;
    const migrator = openMigrator(harness.config.databaseUrl ?? "");
    await growLedger(migrator, { jobs: 20_000, days: 10 });
    await migrator.close();
    await sql`INSERT INTO jobs (id, project_id, api_key_id, modality, model, request, tier, prices,
        quoted_units, work, amount_micro_usd, body_hash, deadline_at, republish_after, released_at)
      SELECT 'video_' || n, 'proj_' || 1 + n % 50, 'key_' || 1 + n % 50, 'video', 'model-' || n % 5, '{}',
        '', '{}', '{}', 4, 4, '', 'infinity', 'infinity', CASE WHEN n % 50 = 0 THEN now() END
      FROM generate_series(1, 5000) n`.execute(db);
    await sql`ANALYZE jobs`.execute(db);
    const claim = paste("claim", {
      job_ids: "'{video_50,video_100}'",
      worker_ids: "'{worker-1,worker-2}'",
      lease_ms: "30000",
      most_lapses: "25",
    });
    const { rows } = await sql<{ "QUERY PLAN": readonly { readonly Plan: Plan }[] }>`
      ${sql.raw(`EXPLAIN (FORMAT JSON) ${claim}`)}`.execute(db);
    const plans = rows.flatMap((row) => row["QUERY PLAN"]);
    const scans = plans
      .flatMap(({ Plan: plan }) => scansOf(plan))
      .filter((scan) => scan["Relation Name"] === "jobs");
    const used = scans.map((scan) => `${scan.Alias} by ${scan["Index Name"]}`);
    expect(used).toEqual([
      "jobs by jobs_pkey",
      "other by jobs_waiting",
      "other_1 by jobs_waiting",
      "served by jobs_served",
      "job by jobs_pkey",
      "jobs_1 by jobs_held",
    ]);
  },
);
