import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openOwnHost, type OwnHost } from "./own-host.js";
import { startService, type Service } from "./service.js";
import { countGood, submit, type Workload, untilEnded } from "./workloads.js";
import { countOf, noteVerdict } from "./verdicts.js";

const MINUTE_MS = 60_000;
const PULLS = countOf({ short: 1, full: 6 });
/** Longer than a connection lives without heartbeats, and in the full form than a lease. */
const AWAY_MS = countOf({ short: 18_000, full: 34_000 });
/** Alternately jobs that end while the connection is silent, and jobs that go on when the connection is given up. */
const STEP_MS = [100, 700] as const;

const host: OwnHost | undefined = await openOwnHost().catch((thrown: unknown) => {
  process.stderr.write(`skipped: no network namespace can be made (${String(thrown)})\n`);
  return undefined;
});

describe.runIf(host !== undefined)("a worker on a host whose cable is pulled", () => {
  let service: Service;
  beforeAll(async () => {
    const far = host === undefined ? {} : { host };
    service = await startService({ fronts: 1, workers: [far, {}] });
  }, 2 * MINUTE_MS);
  afterAll(async () => {
    await service?.close();
    await host?.close();
  });

  const asked = new Map<string, Workload>();
  const send = async (stepMs: number): Promise<string> => {
    const workload = { seed: asked.size + 1, steps: 60, stepMs };
    const id = await submit(service, workload);
    asked.set(id, workload);
    return id;
  };
  /** Sends jobs until the far worker begins one of them; resolves to that one. */
  const heldFarAway = async (stepMs: number): Promise<string> => {
    for (;;) {
      const ids = await Promise.all([send(stepMs), send(stepMs)]);
      for (let open: number = ids.length; open > 0; await sleep(100)) {
        const rows = await service.query<{ id: string; worker: string | null }>(
          `SELECT id, worker_id AS worker FROM jobs
            WHERE id = ANY($1) AND state IN ('queued', 'in_progress')`,
          [ids],
        );
        const held = rows.find(({ worker }) => worker === "worker-0");
        if (held !== undefined) return held.id;
        open = rows.length;
      }
    }
  };

  it(
    "T13: loses its lease and nothing else, and works again",
    { timeout: 15 * MINUTE_MS },
    async () => {
      const cut = new Set<string>();
      for (let pull = 0; pull < PULLS; pull += 1) {
        const stepMs = STEP_MS[pull % STEP_MS.length] ?? 0;
        const held = await heldFarAway(stepMs);
        if (stepMs === STEP_MS[1]) cut.add(held);
        await host?.pull();
        await sleep(AWAY_MS);
        await host?.plug();
        await Promise.all([send(20), send(20)]);
      }
      const rows = await untilEnded(service, asked.keys(), 3 * MINUTE_MS);
      const good = await countGood(service, rows, (id) => asked.get(id));
      const claimed = new Set(rows.flatMap(({ files }) => files));
      const orphans = (await service.listFiles()).filter((key) => !claimed.has(key)).length;
      const moved = rows.filter(({ id, token }) => cut.has(id) && token > 1).length;
      const repeated = rows.filter(({ id, token }) => !cut.has(id) && token > 1).length;
      await noteVerdict({
        promise: "T13",
        injected: `${PULLS} cables of a worker's host pulled for ${AWAY_MS / 1_000} s`,
        counted: `right and charged once ${good} of ${rows.length}, taken over ${moved} of ${cut.size}, finished work repeated ${repeated}, orphan files ${orphans}`,
        holds: good === asked.size && orphans === 0 && moved === cut.size && repeated === 0,
      });
      expect({ good, orphans, moved, repeated }).toEqual({
        good: asked.size,
        orphans: 0,
        moved: cut.size,
        repeated: 0,
      });
    },
  );
});
