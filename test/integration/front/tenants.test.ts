import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addAdminRoutes } from "#framemill/front/operations/admin.js";
import type { Erasure } from "#framemill/front/ledger/erasure.js";
import { createOperations } from "#framemill/front/operations/operations.js";
import type { Front } from "#framemill/front/front.js";
import {
  call,
  createJob,
  janitorRuns,
  makeClip,
  startHarness,
  type Harness,
} from "../../support/front-harness.js";

const ALICE = "the-admin-key-of-alice";
const BOB = "the-admin-key-of-bob-1";

describe("tenants and their operators", () => {
  let harness: Harness;
  let front: Front;
  beforeAll(async () => {
    harness = await startHarness();
    front = await harness.startReplica({
      addPages: (app, { database, keys }) => {
        addAdminRoutes(app, createOperations(database, keys), [
          { name: "alice", key: ALICE },
          { name: "bob", key: BOB },
        ]);
      },
    });
  });
  afterAll(async () => await harness?.close());

  const admin = (key: string, path: string, method = "GET", body?: object) =>
    call(`${front.origin}/admin${path}`, { key, method, ...(body !== undefined && { body }) });
  const rowsOf = async (table: string, projectId: string) => {
    const { rows } = await sql<{ count: number }>`SELECT count(*)::int AS count
      FROM ${sql.ref(table)} WHERE project_id = ${projectId}`.execute(harness.database);
    return rows[0]?.count;
  };

  it("notes who changed what, from where and with which outcome, and no secret", async () => {
    const made = await admin(ALICE, "/keys", "POST", { project: "noted", name: "laptop" });
    expect(made.status).toBe(200);
    await admin(BOB, "/projects/noted", "PUT", { weight: 2 });
    await admin(BOB, "/projects/noted/webhook-secret", "POST", { renew: true });
    await admin(BOB, `/jobs/video_unknown/cancel`, "POST", {});
    await admin(ALICE, `/keys/${made.json.id}`, "DELETE");
    await admin(ALICE, `/keys/${made.json.id}`, "DELETE");
    expect((await admin("the-admin-key-of-mallory", "/audit")).status).toBe(401);
    const { json, text } = await admin(BOB, "/audit?since=24h");
    const rows = json.map((noted: Action) => COLUMNS.map((column) => noted[column]));
    expect(rows).toEqual([
      ["alice", "127.0.0.1", "keys.revoke", made.json.id, {}, "unchanged"],
      ["alice", "127.0.0.1", "keys.revoke", made.json.id, {}, "done"],
      ["bob", "127.0.0.1", "jobs.cancel", "video_unknown", {}, "not_found"],
      ["bob", "127.0.0.1", "projects.webhook-secret", "noted", { renew: true }, "done"],
      ["bob", "127.0.0.1", "projects.set", "noted", { weight: 2 }, "done"],
      ["alice", "127.0.0.1", "keys.create", "noted", { name: "laptop" }, "done"],
    ]);
    expect(text).not.toMatch(/fm_|whsec_/);
    const { json: alices } = await admin(BOB, "/audit?actor=alice&limit=2");
    expect(alices).toHaveLength(2);
  });

  it("erases a project when its id is typed, through stops, and keeps its charges", async () => {
    const db = harness.database;
    const { project, key } = await harness.createAccount();
    const neighbour = await makeClip(harness, harness.account.key);
    const clips = [await makeClip(harness, key), await makeClip(harness, key)];
    const open = await createJob(front, key);
    const path = `/projects/${project.id}/erasure`;
    const plan: Erasure = (await admin(ALICE, path)).json;
    expect(plan).toMatchObject({ jobs: 3, openJobs: 1, keys: 1, charges: 2, askedAt: null });
    expect((await admin(ALICE, path, "POST", { confirm: "test" })).status).toBe(400);
    expect(await rowsOf("jobs", project.id)).toBe(3);
    const asked = await admin(ALICE, path, "POST", { confirm: project.id });
    expect(asked.json).toMatchObject({ openJobs: 0, hasWebhookSecret: false });
    expect((await call(`${front.baseUrl}/videos/${open}`, { key })).status).toBe(401);
    // The worker of a job that has just ended may still upload.
    await janitorRuns(harness);
    expect(await rowsOf("jobs", project.id)).toBe(3);
    const long = async (ids: readonly string[]) =>
      await sql`UPDATE jobs SET ended_at = now() - interval '2 minutes'
        WHERE id = ANY(${ids}::text[])`.execute(db);
    await long(clips);
    await janitorRuns(harness);
    expect(await rowsOf("jobs", project.id)).toBe(1);
    await long([open]);
    await janitorRuns(harness);
    const done: Erasure = (await admin(ALICE, path)).json;
    expect(done).toMatchObject({ project: `erased-${project.id}`, jobs: 0, keys: 0, charges: 2 });
    expect(done.erasedAt).not.toBeNull();
    for (const id of clips)
      await expect(harness.store.readBytes(`${id}/1/content.mp4`)).rejects.toThrow(id);
    expect((await harness.store.readBytes(`${neighbour}/1/content.mp4`)).byteLength).toBe(10);
    const { rows } = await sql<{
      text: string;
    }>`SELECT (SELECT coalesce(json_agg(to_jsonb(jobs)), '[]')
      FROM jobs WHERE project_id = ${project.id})::text || (SELECT json_agg(to_jsonb(charges))
      FROM charges WHERE project_id = ${project.id})::text AS text`.execute(db);
    expect(rows[0]?.text).toContain("video_");
    expect(rows[0]?.text).not.toContain("fox");
    const { json } = await admin(BOB, "/audit?limit=2");
    expect(json.map(({ actor, action }: Action) => [actor, action])).toEqual([
      ["front", "projects.erased"],
      ["alice", "projects.erase"],
    ]);
  });

  it("forgets what has ended when its retention is over, and no charge", async () => {
    const { project, key } = await harness.createAccount();
    const [old, recent] = [await makeClip(harness, key), await makeClip(harness, key)];
    await sql`UPDATE jobs SET files_removed = true, ended_at = now() - interval '31 days'
      WHERE id = ${old}`.execute(harness.database);
    await sql`UPDATE jobs SET files_removed = true, ended_at = now() - interval '29 days'
      WHERE id = ${recent}`.execute(harness.database);
    await janitorRuns(harness);
    expect((await call(`${front.baseUrl}/videos/${old}`, { key })).status).toBe(404);
    expect((await call(`${front.baseUrl}/videos/${recent}`, { key })).status).toBe(200);
    expect(await rowsOf("charges", project.id)).toBe(2);
  });
});

const COLUMNS = ["actor", "address", "action", "target", "detail", "outcome"] as const;

interface Action {
  readonly actor: string;
  readonly address: string;
  readonly action: string;
  readonly target: string;
  readonly detail: object;
  readonly outcome: string;
}
