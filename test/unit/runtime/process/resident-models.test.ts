import { afterEach, expect, test, vi } from "vitest";
import { createResidentModels } from "#framemill/runtime/process/resident-models.js";

/** Models of 4 bytes each, and what happened to them, in order. */
function createShelf(ids: string, budgetBytes: number, idleMs = 0) {
  const log: string[] = [];
  const gates = new Map<string, Promise<void>>();
  const models = ids.split("").map((id) => ({
    id,
    byteLength: 4,
    async load() {
      log.push(`+${id}`);
      await gates.get(id);
      return id;
    },
    async unload() {
      log.push(`-${id}`);
    },
  }));
  const idle = { idleMs, onEmpty: () => void log.push("empty") };
  return { log, gates, shelf: createResidentModels(models, budgetBytes, idle) };
}

const done = () => Promise.resolve();
const workFor = (ms: number) => () => new Promise<void>((resolve) => setTimeout(resolve, ms));

afterEach(() => vi.useRealTimers());

test("unloads the least recently used model when memory is full", async () => {
  const { shelf, log } = createShelf("abc", 8);
  await shelf.use("a", done);
  await shelf.use("b", done);
  await shelf.use("a", done);
  await shelf.use("c", done);
  expect(log).toEqual(["+a", "+b", "-b", "+c"]);
  expect(shelf.loaded).toEqual(["a", "c"]);
});

test("never unloads a busy model, and loads the other once it is idle", async () => {
  vi.useFakeTimers();
  const { shelf, log } = createShelf("ab", 4);
  let end = () => {};
  const working = shelf.use("a", () => new Promise<void>((resolve) => (end = resolve)));
  const waiting = shelf.use("b", async (loaded) => log.push(`b works with ${loaded}`));
  await vi.advanceTimersByTimeAsync(1_100);
  expect(log).toEqual(["+a"]);
  end();
  await working;
  await waiting;
  expect(log).toEqual(["+a", "-a", "+b", "b works with b"]);
});

test("groups jobs that came between those of another model: two loads instead of four", async () => {
  vi.useFakeTimers();
  const { shelf, log } = createShelf("ab", 4);
  const jobs = Promise.all(["a", "b", "a", "b"].map((id) => shelf.use(id, workFor(20))));
  await vi.advanceTimersByTimeAsync(60);
  await jobs;
  expect(log).toEqual(["+a", "-a", "+b"]);
});

test("a busy model is unloaded between jobs for one that waits", async () => {
  vi.useFakeTimers();
  const { shelf, log } = createShelf("ab", 4);
  let isServed = false;
  const keepBusy = async (offsetMs: number) => {
    await workFor(offsetMs)();
    while (!isServed) await shelf.use("a", workFor(30));
  };
  const busy = Promise.all([keepBusy(0), keepBusy(15)]);
  await vi.advanceTimersByTimeAsync(40);
  const served = shelf.use("b", async () => (isServed = true));
  await vi.advanceTimersByTimeAsync(2_000);
  await served;
  await busy;
  expect(log.slice(0, 3)).toEqual(["+a", "-a", "+b"]);
});

test("other models serve while one loads", async () => {
  const { shelf, gates, log } = createShelf("ab", 8);
  await shelf.use("a", done);
  let open = () => {};
  gates.set("b", new Promise<void>((resolve) => (open = resolve)));
  const waiting = shelf.use("b", done);
  expect(await shelf.use("a", async (loaded) => loaded)).toBe("a");
  open();
  await waiting;
  expect(log).toEqual(["+a", "+b"]);
});

test("a job that is cancelled while it waits loads no model", async () => {
  const { shelf, log } = createShelf("ab", 4);
  let end = () => {};
  const working = shelf.use("a", () => new Promise<void>((resolve) => (end = resolve)));
  const abort = new AbortController();
  const waiting = shelf.use("b", done, abort.signal);
  abort.abort(new Error("cancelled"));
  await expect(waiting).rejects.toThrow("cancelled");
  end();
  await working;
  expect(log).toEqual(["+a"]);
});

test("says which model is larger than the budget", () => {
  expect(() => createShelf("a", 3)).toThrow("a needs 4 bytes, MODEL_MEMORY_BYTES allows 3");
});

test("unloads what has had no work for the idle time, and sooner what nobody has asked for yet", async () => {
  vi.useFakeTimers();
  const { shelf, log } = createShelf("ab", 8, 60_000);
  await shelf.prove("a");
  await shelf.prove("b");
  await shelf.use("a", done);
  await vi.advanceTimersByTimeAsync(59_000);
  expect(shelf.loaded).toEqual(["a"]);
  await shelf.use("a", done);
  await vi.advanceTimersByTimeAsync(59_000);
  expect(log).toEqual(["+a", "+b", "-b"]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(log).toEqual(["+a", "+b", "-b", "-a", "empty"]);
});
