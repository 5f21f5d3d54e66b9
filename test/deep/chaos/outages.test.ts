import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TcpProxy } from "../../support/tcp-proxy.js";
import { startService, type Service } from "./service.js";
import { STEP_DONE } from "./workload/pipeline.js";
import { askFor, countGood, submit, type Workload, untilEnded } from "./workloads.js";
import { countOf, limitOf, noteVerdict } from "./verdicts.js";

const MINUTE_MS = 60_000;
const DATABASE_AWAY_MS = 15_000;
const STORE_AWAY_MS = countOf({ short: 10_000, full: 60_000 });
const BROKER_AWAY_MS = countOf({ short: 5_000, full: 25_000 });
const JOBS = countOf({ short: 6, full: 40 });
const SPOOL_EMPTY_MS = limitOf(60_000);
const DISK_BYTES = 8 * 2 ** 20;
const run = promisify(execFile);

/** What names a part or a file of the service: an address, a port, a bucket, its key, a key of a file. */
const INNER = /127\.0\.0\.1|localhost|ECONN|:\d{4,5}\b|S3RVER|framemill-test|[0-9a-f]{32}\/\d/;

describe.skipIf(process.getuid?.() !== 0)("outages of database, store, broker and disk", () => {
  let folder: string;
  let disk: string;
  let service: Service;
  let seed = 0;
  const asked = new Map<string, Workload>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-outages-"));
    disk = join(folder, "disk");
    await mkdir(disk);
    await run("mount", ["-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "tmpfs", disk]);
    const small = { DATA_DIR: join(disk, "data"), SCRATCH_DIR: join(disk, "scratch") };
    const workers = [{}, { environment: small }];
    service = await startService({ fronts: 2, workers, hasProxies: true });
  }, 3 * MINUTE_MS);
  afterAll(async () => {
    await service?.close();
    await run("umount", [disk]).catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  });

  const send = async (steps: number, stepMs: number): Promise<string> => {
    seed += 1;
    const workload = { seed, steps, stepMs };
    const id = await submit(service, workload);
    asked.set(id, workload);
    return id;
  };
  const countSteps = () =>
    service.workers.reduce((sum, member) => sum + member.said().split(STEP_DONE).length - 1, 0);
  /** What became of jobs of so many steps, since so many steps had been done. */
  const judge = async (ids: readonly string[], stepsBefore: number) => {
    const rows = await untilEnded(service, ids, 5 * MINUTE_MS);
    const needed = ids.reduce((sum, id) => sum + (asked.get(id)?.steps ?? 0), 0);
    return {
      failed: rows.filter(({ state }) => state === "failed").length,
      right: await countGood(service, rows, (id) => asked.get(id)),
      recomputed: countSteps() - stepsBefore - needed,
      blamed: rows.filter(({ crashes }) => crashes > 0).length,
    };
  };
  const during = async (proxy: TcpProxy, ms: number, act: () => Promise<void>): Promise<number> => {
    await proxy.cut();
    const end = performance.now() + ms;
    while (performance.now() < end) {
      await act();
      await sleep(200);
    }
    await proxy.restore();
    return performance.now();
  };

  it(
    "T22: report what was finished while the database was away",
    { timeout: 10 * MINUTE_MS },
    async () => {
      const before = countSteps();
      const ids = [await send(6, 300), await send(6, 300)];
      while (countSteps() < before + 11) await sleep(20);
      const backAt = await during(service.databaseProxy, DATABASE_AWAY_MS, async () => {});
      const spools = [service.dataDir, join(disk, "data")].map((data) => join(data, "spool"));
      const spooled = async () => (await Promise.all(spools.map((path) => readdir(path)))).flat();
      while ((await spooled()).length > 0 && performance.now() - backAt < 2 * MINUTE_MS)
        await sleep(100);
      const emptyMs = Math.round(performance.now() - backAt);
      const left = (await spooled()).length;
      const { recomputed, right } = await judge(ids, before);
      const holds = recomputed === 0 && right === ids.length && left === 0;
      await noteVerdict({
        promise: "T22",
        injected: `database away ${DATABASE_AWAY_MS / 1_000} s with ${ids.length} jobs just finished`,
        counted: `steps done twice ${recomputed}, charged once with the right bytes ${right} of ${ids.length}, spool empty after ${emptyMs} ms, left in it ${left}`,
        holds: holds && emptyMs <= SPOOL_EMPTY_MS,
      });
      expect({ recomputed, right, left }).toEqual({ recomputed: 0, right: ids.length, left: 0 });
      expect(emptyMs).toBeLessThanOrEqual(SPOOL_EMPTY_MS);
    },
  );

  it(
    "T23, T25: keep what was made while the artifact store is away, and read on",
    { timeout: 15 * MINUTE_MS },
    async () => {
      const done = await send(1, 0);
      await untilEnded(service, [done], MINUTE_MS);
      const before = countSteps();
      const ids = await Promise.all(Array.from({ length: JOBS }, () => send(8, 250)));
      while (countSteps() < before + 2) await sleep(20);
      const leaked: string[] = [];
      let [reads, otherReads, downloads] = [0, 0, 0];
      await during(service.storeProxy, STORE_AWAY_MS, async () => {
        for (const path of [`/v1/workloads/${ids[reads % JOBS]}`, "/v1/workloads", "/readyz"]) {
          const { status, text } = await service.fetch(path);
          reads += 1;
          if (status !== 200) otherReads += 1;
          if (INNER.test(text)) leaked.push(text);
        }
        const { status, text } = await service.fetch(`/v1/workloads/${done}/content`);
        if (status === 503) downloads += 1;
        if (INNER.test(text)) leaked.push(text);
      });
      const { failed, recomputed, right, blamed } = await judge(ids, before);
      for (const id of ids) {
        const { text } = await service.fetch(`/v1/workloads/${id}`);
        if (INNER.test(text)) leaked.push(text);
      }
      const rested = service.workers.filter((member) =>
        /"part":"store"/.test(member.said()),
      ).length;
      const good = failed + recomputed + blamed + leaked.length === 0 && right === JOBS;
      await noteVerdict({
        promise: "T23",
        injected: `artifact store away ${STORE_AWAY_MS / 1_000} s with ${JOBS} jobs under way`,
        counted: `failed ${failed}, steps done twice ${recomputed}, blamed ${blamed}, leaked addresses ${leaked.length}, downloads answered 503 ${downloads}, workers that took no more ${rested}, right bytes ${right} of ${JOBS}`,
        holds: good && downloads > 0 && rested > 0,
      });
      await noteVerdict({
        promise: "T25",
        injected: `artifact store away ${STORE_AWAY_MS / 1_000} s`,
        counted: `reads and readiness not answered 200 ${otherReads} of ${reads}`,
        holds: otherReads === 0 && reads > 0,
      });
      expect({ failed, recomputed, blamed, leaked, right, otherReads }).toEqual({
        failed: 0,
        recomputed: 0,
        blamed: 0,
        leaked: [],
        right: JOBS,
        otherReads: 0,
      });
      expect([downloads > 0, rested > 0]).toEqual([true, true]);
    },
  );

  it(
    "T25: read and download on while the broker is away",
    { timeout: 10 * MINUTE_MS },
    async () => {
      const done = await send(1, 0);
      await untilEnded(service, [done], MINUTE_MS);
      let [asks, others, refused, wrong] = [0, 0, 0, 0];
      await during(service.brokerProxy, BROKER_AWAY_MS, async () => {
        for (const path of [`/v1/workloads/${done}`, `/v1/workloads/${done}/content`, "/readyz"]) {
          asks += 1;
          if ((await service.fetch(path)).status !== 200) others += 1;
        }
        const created = await askFor(service, { seed: 1, steps: 1, stepMs: 0 });
        const isRefused = created?.status === 503 && Number(created.headers.get("retry-after")) > 0;
        if (isRefused) refused += 1;
        else wrong += 1;
      });
      await untilEnded(service, [await send(1, 0)], 2 * MINUTE_MS);
      await noteVerdict({
        promise: "T25",
        injected: `broker away ${BROKER_AWAY_MS / 1_000} s`,
        counted: `reads, downloads and readiness not answered 200 ${others} of ${asks}, creations answered 503 with retry-after ${refused} of ${refused + wrong}`,
        holds: others === 0 && wrong === 0 && refused > 0,
      });
      expect({ others, wrong }).toEqual({ others: 0, wrong: 0 });
      expect(refused).toBeGreaterThan(0);
    },
  );

  it(
    "T24: fail no job for a worker's full disk, which it survives",
    { timeout: 10 * MINUTE_MS },
    async () => {
      const [, small] = service.workers;
      if (small === undefined) throw new Error("there is no second worker");
      const filler = join(disk, "filler");
      await fill(filler);
      const ids = await Promise.all(Array.from({ length: JOBS }, () => send(2, 100)));
      const rows = await untilEnded(service, ids, 5 * MINUTE_MS);
      const said = small.said();
      const wasUnready = /"part":"machine"[^\n]*"unready"/.test(said);
      await rm(filler);
      await small.running.says(/"part":"machine"[^\n]*"fit again"/);
      const failed = rows.filter(({ state }) => state === "failed").length;
      const blamed = rows.filter(({ crashes }) => crashes > 0).length;
      const right = await countGood(service, rows, (id) => asked.get(id));
      const steps = () => small.said().split(STEP_DONE).length;
      const before = steps();
      const later = await Promise.all(Array.from({ length: 6 }, () => send(3, 100)));
      await untilEnded(service, later, 2 * MINUTE_MS);
      const works = steps() > before;
      const holds = failed + blamed === 0 && right === JOBS && wasUnready && works;
      await noteVerdict({
        promise: "T24",
        injected: `the disk of one of 2 workers full, ${JOBS} jobs`,
        counted: `failed ${failed}, blamed ${blamed}, right bytes ${right} of ${JOBS}, unready meanwhile ${wasUnready}, works again ${works}`,
        holds,
      });
      expect({ failed, blamed, right, wasUnready, works }).toEqual({
        failed: 0,
        blamed: 0,
        right: JOBS,
        wasUnready: true,
        works: true,
      });
    },
  );
});

/** Until nothing more fits. */
async function fill(path: string): Promise<void> {
  const block = Buffer.alloc(4_096);
  for (;;) {
    try {
      await writeFile(path, block, { flag: "a" });
    } catch {
      return;
    }
  }
}
