import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { processStart } from "#framemill/runtime/process/adoption.js";
import { until } from "../../support/queue-harness.js";
import { writeModelPackage } from "../../support/model-manifest.js";

const ownerPath = fileURLToPath(new URL("../../fixtures/inference/owner.mjs", import.meta.url));
const PATIENCE_MS = 60_000;
const LONG_MS = 60_000;
const SHORT_MS = 1_500;

const isThere = (processId: number) => processStart(processId) !== undefined;

interface Owner {
  readonly child: ChildProcess;
  /** Of its inference process. */
  readonly processId: number;
  /** Whether that was another worker's. */
  readonly isAdopted: boolean;
}

interface OwnerOptions {
  readonly does?: "finish" | "hang" | "wait";
  readonly waitMs?: number;
  readonly threads?: number;
}

describe("an inference process that may be adopted", () => {
  let root = "";
  let model = "";
  let folder = "";
  let owners: Owner[] = [];

  const writePackage = (text: string) =>
    writeModelPackage(
      model,
      { id: "toy", modality: "toy", limits: {} },
      {
        graph: ["graph.onnx", Buffer.from(text)],
      },
    );
  const launch = ({ does = "finish", waitMs = LONG_MS, threads = 1 }: OwnerOptions = {}) => {
    const words = [ownerPath, model, does, folder, String(waitMs), String(threads)];
    return spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
  };
  /** A worker whose job has begun, or ended where it finishes. */
  const own = async (options?: OwnerOptions): Promise<Owner> => {
    const child = launch(options);
    const [line] = await once(createInterface({ input: child.stdout }), "line");
    const [processId, adoptions] = String(line).split(" ").map(Number);
    const owner = { child, processId: processId ?? 0, isAdopted: adoptions === 1 };
    owners.push(owner);
    return owner;
  };
  const end = async ({ child }: Owner, signal: NodeJS.Signals = "SIGKILL") => {
    const exited = once(child, "exit");
    child.kill(signal);
    await exited;
  };

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "adoption-"));
    [model, folder] = [join(root, "model"), join(root, "inference")];
    await mkdir(model);
    await mkdir(folder, { mode: 0o700 });
    writePackage("a graph");
    owners = [];
  });
  afterEach(async () => {
    for (const { child, processId } of owners) {
      child.kill("SIGKILL");
      if (isThere(processId)) process.kill(-processId, "SIGKILL");
    }
    await rm(root, { recursive: true, force: true });
  });

  test("answers the next worker when its own was killed, time after time", async () => {
    const first = await own();
    expect(first.isAdopted).toBe(false);
    await end(first);
    for (let round = 0; round < 3; round += 1) {
      const next = await own();
      expect(next).toMatchObject({ processId: first.processId, isAdopted: true });
      await end(next);
    }
  });

  test("stays when its worker ends in order, for an upgrade", async () => {
    const first = await own();
    first.child.kill("SIGTERM");
    await sleep(500);
    await end(first);
    expect(await own()).toMatchObject({ processId: first.processId, isAdopted: true });
  });

  test("stops the job of a worker that was killed, and runs it for the next", async () => {
    const first = await own({ does: "wait" });
    await end(first);
    const next = await own();
    expect(next).toMatchObject({ processId: first.processId, isAdopted: true });
  });

  test("is not taken by another setup or package: it ends before the next one loads", async () => {
    const first = await own();
    await end(first);
    const otherSetup = await own({ threads: 2 });
    expect(otherSetup.isAdopted).toBe(false);
    expect(isThere(first.processId)).toBe(false);
    await end(otherSetup);
    writePackage("another");
    const otherPackage = await own({ threads: 2 });
    expect(otherPackage.isAdopted).toBe(false);
    expect(isThere(otherSetup.processId)).toBe(false);
  });

  test("ends when nobody has come in time, and leaves no socket", async () => {
    const first = await own({ waitMs: SHORT_MS });
    await end(first);
    await until(() => !isThere(first.processId), PATIENCE_MS);
    expect(await readdir(folder)).toEqual([]);
  });

  test("is killed when it hangs without a worker", async () => {
    const first = await own({ does: "hang" });
    await end(first);
    await until(() => !isThere(first.processId), PATIENCE_MS);
    expect((await own()).isAdopted).toBe(false);
  });

  test("stays with a worker that stands still: another one starts its own", async () => {
    const frozen = await own({ waitMs: SHORT_MS });
    frozen.child.kill("SIGSTOP");
    const other = await own({ waitMs: SHORT_MS });
    expect(other.isAdopted).toBe(false);
    await sleep(SHORT_MS);
    expect(isThere(frozen.processId)).toBe(true);
  });

  test("goes to one of two workers that come at once", async () => {
    const first = await own();
    await end(first);
    const both = await Promise.all([own(), own()]);
    expect(both.filter(({ isAdopted }) => isAdopted)).toHaveLength(1);
    expect(new Set(both.map(({ processId }) => processId)).size).toBe(2);
  });

  test("that died leaves a socket, which the next worker removes", async () => {
    const first = await own();
    await end(first);
    process.kill(-first.processId, "SIGKILL");
    await until(() => !isThere(first.processId), PATIENCE_MS);
    expect(await readdir(folder)).toHaveLength(1);
    const next = await own();
    expect(next.isAdopted).toBe(false);
    expect(await readdir(folder)).toHaveLength(1);
  });

  test.each([
    ["that others may enter", async () => await chmod(folder, 0o755)],
    [
      "that is a file",
      async () => {
        await rm(folder, { recursive: true });
        await writeFile(folder, "");
      },
    ],
  ])("is refused a folder %s", async (_, spoil) => {
    await spoil();
    const child = launch();
    const [line] = await once(createInterface({ input: child.stdout }), "line");
    expect(line).toMatch(/must be a folder of user \d+ with mode 700/);
  });

  test("is refused a path that the system does not take, with both lengths", async () => {
    folder = join(root, "x".repeat(100));
    await mkdir(folder, { mode: 0o700 });
    const [line] = await once(createInterface({ input: launch().stdout }), "line");
    expect(line).toMatch(/at most 107 bytes, .* has \d+: choose a shorter DATA_DIR/);
  });
});
