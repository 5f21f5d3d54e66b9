import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { JobError } from "#framemill/core/errors.js";
import { createFitness } from "#framemill/worker/fitness.js";

const log = { info() {}, warn() {}, error() {} };
const full = new JobError("worker_fault", "ENOSPC: no space left on device, write");

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "fitness-"));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true, force: true });
});

/** A worker's fitness over a store that can be taken away; counts the looks at it. */
function start() {
  const store = { isAway: false, looks: 0 };
  let changes = 0;
  const fitness = createFitness({
    store: {
      async probe() {
        store.looks += 1;
        if (store.isAway) throw new JobError("service_unavailable", "connect ECONNREFUSED");
      },
    },
    folders: [folder],
    onChange: () => (changes += 1),
    log,
  });
  return { fitness, store, changes: () => changes };
}

test("a worker whose store is away is unfit, probes at growing pauses, and is fit again by itself", async () => {
  const { fitness, store, changes } = start();
  store.isAway = true;
  fitness.met(new JobError("store_unavailable", "The artifact store cannot be used."));
  await vi.advanceTimersByTimeAsync(0);
  expect(fitness.obstacles).toEqual({ store: "connect ECONNREFUSED" });
  for (const [pauseMs, looks] of [
    [1_000, 2],
    [1_000, 2],
    [1_000, 3],
    [4_000, 4],
  ] as const) {
    await vi.advanceTimersByTimeAsync(pauseMs);
    expect(store.looks).toBe(looks);
  }
  store.isAway = false;
  await vi.advanceTimersByTimeAsync(8_000);
  expect(fitness.obstacles).toEqual({});
  expect(changes()).toBe(2);
  fitness.close();
});

test("a worker with a full disk pauses longer each time, until an attempt succeeds", async () => {
  const { fitness, changes } = start();
  const restMs = async (pauseMs: number) => {
    fitness.met(full);
    expect(fitness.obstacles).toEqual({ machine: full.message });
    await vi.advanceTimersByTimeAsync(pauseMs - 1);
    expect(fitness.obstacles).toEqual({ machine: full.message });
    await vi.advanceTimersByTimeAsync(1);
    await vi.waitFor(() => expect(fitness.obstacles).toEqual({}), { timeout: 60_000 });
  };
  await restMs(1_000);
  await restMs(2_000);
  fitness.succeeded();
  await restMs(1_000);
  expect(changes()).toBe(6);
  expect(await readdir(folder)).toEqual([]);
  fitness.close();
});

test("a worker whose folder is gone stays unready and says why", async () => {
  const { fitness } = start();
  vi.useRealTimers();
  await rm(folder, { recursive: true });
  const blocked = createFitness({
    store: { probe: async () => {} },
    folders: ["/dev/null/scratch"],
    onChange() {},
    log,
  });
  blocked.met(full);
  await vi.waitFor(() => expect(blocked.obstacles.machine).toMatch(/^ENOTDIR/), {
    timeout: 60_000,
  });
  blocked.close();
  fitness.close();
});
