import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Client } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openMigrator } from "#framemill/front/ledger/database/database.js";
import { migrate } from "#framemill/front/ledger/database/schema.js";
import { createPostgres, dropPostgres } from "../../support/front-harness.js";
import { fillOldest, upTo } from "../../support/older-ledgers.js";
import {
  environmentOf,
  runCommand,
  type Running,
  startProcess,
} from "../../support/service-harness.js";
import { buildCommit, hasCommit } from "./older-fronts.js";
import { countOf, limitOf, noteVerdict } from "./verdicts.js";

/** The first release, whose ledger has one migration, and the one before `framemill migrate`. */
const [OLDEST, BEFORE] = ["d47399c", "9293cc0"];
const JOBS = countOf({ short: 50_000, full: 1_000_000 });
const CLIENTS = 4;
const MINUTE_MS = 60_000;
const LONGEST_LOCK_MS = limitOf(1_000);

const run = promisify(execFile);
const isThere = (await Promise.all([OLDEST, BEFORE].map(hasCommit))).every(Boolean);

let folder: string;
let databaseUrl: string;
const running: Running[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-upgrade-"));
  databaseUrl = await createPostgres();
});
afterAll(async () => {
  for (const front of running) await front.stop("SIGKILL");
  await dropPostgres(databaseUrl);
  await rm(folder, { recursive: true, force: true });
});

it.skipIf(!isThere)(
  "T27: requests go on from the oldest ledger's front to today's, and back by one release",
  { timeout: 60 * MINUTE_MS },
  async () => {
    const db = openMigrator(databaseUrl);
    await migrate(db, { contract: false, say: () => {}, migrations: upTo("2026-11-21-ledger") });
    await fillOldest(db, JOBS);
    await db.close();
    const oldest = await buildCommit(OLDEST, join(folder, "oldest"));
    const before = await buildCommit(BEFORE, join(folder, "before"));
    const env = environmentOf(join(folder, "data"), {
      DATABASE_URL: databaseUrl,
      REQUESTS_PER_MINUTE: "1000000",
      WORKER_TOKEN: "a-token-for-this-test-only",
    });
    const first = await startFront(env, oldest);
    const { stdout: key } = await run(process.execPath, [oldest, "keys", "create"], { env });
    const load = startLoad(key.trim(), first.baseUrl);
    const locks = await watchLocks(databaseUrl);
    await sleep(2_000);
    const quiet = load.slowestMs();
    const beganAtMs = performance.now();
    await runCommand(["migrate"], env);
    const seconds = (performance.now() - beganAtMs) / 1_000;
    const longest = await locks.stop();
    const slowest = load.slowestMs();
    const served = load.served();
    const today = await startFront(env);
    load.goTo(today.baseUrl);
    await load.serves(50);
    await first.front.stop("SIGTERM");
    const back = await startFront(env, before);
    load.goTo(back.baseUrl);
    await load.serves(50);
    await today.front.stop("SIGTERM");
    await load.serves(50);
    const { failed, requests } = await load.stop();
    const holds = failed.length === 0 && longest <= LONGEST_LOCK_MS;
    await noteVerdict({
      promise: "T27",
      injected: `${JOBS} jobs, ${OLDEST} → today in ${seconds.toFixed(1)} s, then back to ${BEFORE}, ${CLIENTS} clients`,
      counted:
        `requests ${requests} (${served} while it migrated), failed ${failed.length}, longest wait for a lock ` +
        `${longest.toFixed(0)} ms, slowest request ${slowest.toFixed(0)} ms (before: ${quiet.toFixed(0)} ms)`,
      holds,
    });
    expect(failed).toEqual([]);
    expect(longest).toBeLessThanOrEqual(LONGEST_LOCK_MS);
    expect(served).toBeGreaterThan(0);
  },
);

async function startFront(env: NodeJS.ProcessEnv, cliPath?: string) {
  const own = cliPath === undefined ? {} : { MODELS_DIR: join(cliPath, "../../../models") };
  const front = startProcess("front", { ...env, ...own }, cliPath);
  running.push(front);
  const [, baseUrl = ""] = await front.says(/"baseUrl":"([^"]+)"/);
  return { front, baseUrl };
}

/** Clients that create clips, read, list and cancel them, one request after the other. */
function startLoad(key: string, at: string) {
  let [baseUrl, slowestMs, requests, served, ended] = [at, 0, 0, 0, false];
  const failed: string[] = [];
  const ask = async (method: string, path: string, body?: object) => {
    const beganAtMs = performance.now();
    const url = `${baseUrl}${path}`;
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const init =
      body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const answer = await fetch(url, init).catch((thrown: unknown) => String(thrown));
    const text = typeof answer === "string" ? answer : await answer.text();
    requests += 1;
    served += 1;
    slowestMs = Math.max(slowestMs, performance.now() - beganAtMs);
    if (typeof answer === "string" || !answer.ok) failed.push(`${method} ${path}: ${text}`);
    return text;
  };
  const client = async (): Promise<void> => {
    for (let round = 0; !ended; round += 1) {
      const body = {
        model: "service-motion-1",
        prompt: "a fox in the snow",
        seconds: "4",
        seed: round,
      };
      const created = await ask("POST", "/videos", body);
      const id = /"id":\s*"(video_\w+)"/.exec(created)?.[1];
      if (id === undefined) continue;
      await ask("GET", `/videos/${id}`);
      await ask("GET", "/videos?limit=10");
      await ask("POST", `/videos/${id}/cancel`);
    }
  };
  const clients = Array.from({ length: CLIENTS }, client);
  return {
    goTo: (next: string) => void (baseUrl = next),
    /** Since the last time that it was asked. */
    slowestMs() {
      const slowest = slowestMs;
      slowestMs = 0;
      return slowest;
    },
    served() {
      const count = served;
      served = 0;
      return count;
    },
    async serves(more: number) {
      for (const until = requests + more; requests < until;) await sleep(20);
    },
    async stop() {
      ended = true;
      await Promise.all(clients);
      return { failed, requests };
    },
  };
}

/** The longest that anybody but the migrator has waited for a lock, by the server's own clock. */
async function watchLocks(connectionString: string) {
  const client = new Client({ connectionString });
  await client.connect();
  let [longestMs, ended] = [0, false];
  const watching = (async () => {
    while (!ended) {
      const { rows } = await client.query<{ ms: number | null }>(
        `SELECT max(extract(epoch FROM clock_timestamp() - waitstart) * 1000)::float8 AS ms
          FROM pg_locks JOIN pg_stat_activity USING (pid)
          WHERE NOT granted AND application_name <> 'framemill migrate'`,
      );
      longestMs = Math.max(longestMs, rows[0]?.ms ?? 0);
      await sleep(20);
    }
  })();
  return {
    async stop() {
      ended = true;
      await watching;
      await client.end();
      return longestMs;
    },
  };
}
