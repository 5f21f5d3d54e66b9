import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Artifact } from "#framemill/core/artifact.js";
import type { PipelineEvent } from "#framemill/core/events.js";
import { isProcessAlive } from "#framemill/core/processes.js";
import type { InferenceHost } from "#framemill/runtime/process/protocol.js";
import type { ModelManifest } from "#framemill/runtime/packages/model-package.js";
import {
  createInferenceProcess,
  type InferenceProcessOptions,
} from "#framemill/runtime/process/process.js";
import { until } from "../../support/queue-harness.js";
import { writeModelPackage } from "../../support/model-manifest.js";

const entryPath = fileURLToPath(new URL("../../fixtures/inference/entry.mjs", import.meta.url));
const ownerPath = fileURLToPath(new URL("../../fixtures/inference/owner.mjs", import.meta.url));
/** How long a test waits for what must come. */
const PATIENCE_MS = 60_000;
const log = { info() {}, error() {} };
const input: Artifact = {
  id: "input.bin",
  variant: "input",
  mediaType: "application/octet-stream",
  byteLength: 300_000,
  sha256: "",
};

/** A package of one file that hashes as it says, or does not. */
interface Oddity {
  readonly sha256?: string;
  readonly limits?: ModelManifest["limits"];
}

const SETUP = { threads: 1, ffmpegPath: "", ffprobePath: "", espeakPath: "" };

interface Running {
  readonly on?: InferenceHost;
  readonly signal?: AbortSignal;
  readonly onEvent?: () => void;
}

async function writePackage(folder: string, { sha256, limits = {} }: Oddity = {}): Promise<string> {
  const bytes = Buffer.from("a graph");
  const graph = { path: "graph.onnx", sha256: sha256 ?? "", byteLength: bytes.byteLength };
  const wrong = sha256 === undefined ? {} : { files: { graph } };
  const contents = { graph: ["graph.onnx", bytes] } as const;
  writeModelPackage(folder, { id: "toy", modality: "toy", limits, ...wrong }, contents);
  return folder;
}

describe("the inference process", () => {
  let folder = "";
  let host: InferenceHost;
  const open = (modelPath: string, more: Partial<InferenceProcessOptions> = {}) =>
    createInferenceProcess({
      entryPath,
      setup: { ...SETUP, modelPaths: [modelPath] },
      // Only a test of a job that hangs is in a hurry.
      stallMs: 60_000,
      cancelMs: 60_000,
      log,
      ...more,
    });
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "inference-process-"));
    host = open(await writePackage(folder));
    await host.ready();
  });
  afterAll(async () => {
    await host.close();
    await rm(folder, { recursive: true, force: true });
  });

  const run = async (
    request: object,
    { on = host, signal, onEvent = () => {} }: Running = {},
  ): Promise<PipelineEvent[]> => {
    const { signal: never } = new AbortController();
    const job = {
      id: "job_1",
      modality: "toy",
      model: "toy",
      request,
      expiresAtMs: 0,
      reportTo: "",
    };
    const readInput = async () => new Uint8Array(input.byteLength).fill(7);
    const events: PipelineEvent[] = [];
    for await (const event of on.run({ job, scratchPath: folder, readInput }, signal ?? never)) {
      events.push(event);
      onEvent();
    }
    return events;
  };
  /** A job that is cancelled once it works. */
  const runAndCancel = async (request: object, on: InferenceHost = host) => {
    const cancel = new AbortController();
    await run(request, { on, signal: cancel.signal, onEvent: () => cancel.abort() });
  };

  test("streams a job's events and gives it its inputs", async () => {
    const sha256 = createHash("sha256")
      .update(new Uint8Array(input.byteLength).fill(7))
      .digest("hex");
    expect(await run({ does: "finish", input })).toEqual([
      { type: "progress", fraction: 0.5, stage: "steps" },
      { type: "output", output: { sha256 } },
    ]);
  });

  test("that dies fails its job with inference_crashed and is there again for the next", async () => {
    const before = host.processId;
    await expect(run({ does: "crash" })).rejects.toMatchObject({ code: "inference_crashed" });
    expect(await run({ does: "finish" })).toHaveLength(2);
    expect(host.processId).not.toBe(before);
  });

  test("leaves when its models have had no work, and is there again for the next job", async () => {
    const setup = { ...SETUP, modelPaths: [folder], modelIdleMs: 100 };
    const idle = open(folder, { setup });
    try {
      await idle.ready();
      for (let round = 0; round < 2; round += 1) {
        await vi.waitUntil(() => idle.processId === undefined, 30_000);
        expect(await idle.memoryBytes()).toBe(0);
        expect(await run({ does: "finish" }, { on: idle })).toHaveLength(2);
        expect(idle.processId).toBeGreaterThan(0);
      }
    } finally {
      await idle.close();
    }
  });

  test("stops a cancelled job and keeps its models", async () => {
    const before = host.processId;
    await expect(runAndCancel({ does: "wait" })).rejects.toMatchObject({ code: "cancelled" });
    expect(await run({ does: "finish" })).toHaveLength(2);
    expect(host.processId).toBe(before);
  });

  test("reports what a pipeline throws and lives on", async () => {
    const before = host.processId;
    await expect(run({ does: "fail" })).rejects.toMatchObject({
      code: "server_error",
      message: "NaN in the latents",
    });
    expect(host.processId).toBe(before);
  });

  test.concurrent("that hangs is killed and its job fails with inference_stalled", async () => {
    const hasty = open(await writePackage(await mkdtemp(join(folder, "hasty-"))), { stallMs: 200 });
    const stalled = { code: "inference_stalled" };
    await expect(run({ does: "hang" }, { on: hasty })).rejects.toMatchObject(stalled);
    // On a busy machine any job may be silent for that long.
    const finishes = () =>
      run({ does: "finish" }, { on: hasty }).then(
        () => true,
        () => false,
      );
    await until(finishes, PATIENCE_MS);
    await hasty.close();
  });

  test.concurrent("is killed when a cancelled job does not stop", async () => {
    const hasty = open(await writePackage(await mkdtemp(join(folder, "hasty-"))), {
      cancelMs: 100,
    });
    await hasty.ready();
    const hung = hasty.processId;
    await expect(runAndCancel({ does: "hang" }, hasty)).rejects.toMatchObject({
      code: "cancelled",
    });
    expect(await run({ does: "finish" }, { on: hasty })).toHaveLength(2);
    expect(hasty.processId).not.toBe(hung);
    await hasty.close();
  });

  test.concurrent("that hangs dies with a worker that is killed", async () => {
    const owner = spawn(
      process.execPath,
      [ownerPath, await writePackage(await mkdtemp(join(folder, "owned-")))],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    const [line] = await once(createInterface({ input: owner.stdout }), "line");
    const processId = Number(line.split(" ")[0]);
    expect(isProcessAlive(processId)).toBe(true);
    owner.kill("SIGKILL");
    await until(() => !isProcessAlive(processId), PATIENCE_MS);
  });

  test.concurrent("is replaced when its device is lost, and tells at the third loss", async () => {
    let notices = 0;
    const fragile = open(await writePackage(await mkdtemp(join(folder, "gpu-"))), {
      onBroken: () => (notices += 1),
    });
    const seen = new Set<number | undefined>();
    for (const losses of [1, 2, 3]) {
      await fragile.ready();
      seen.add(fragile.processId);
      await expect(run({ does: "lose the device" }, { on: fragile })).rejects.toMatchObject({
        code: "device_lost",
      });
      expect(notices).toBe(losses === 3 ? 1 : 0);
      expect(await run({ does: "finish" }, { on: fragile })).toHaveLength(2);
    }
    expect(seen.size).toBe(3);
    await fragile.close();
  });

  test.concurrent("is not ready again on a device that cannot make the example", async () => {
    let notices = 0;
    const path = await writePackage(await mkdtemp(join(folder, "gone-")), {
      limits: { minSeconds: 1 },
    });
    const broken = open(path, { onBroken: () => (notices += 1) });
    await broken.ready();
    await expect(run({ does: "lose the device" }, { on: broken })).rejects.toMatchObject({
      code: "device_lost",
    });
    let isReady = false;
    void broken.ready().then(
      () => (isReady = true),
      () => {},
    );
    await until(() => notices === 1, PATIENCE_MS);
    expect(isReady).toBe(false);
    await broken.close();
  });

  test.concurrent("that holds more memory than it may is killed before the kernel chooses", async () => {
    const allowance = process.memoryUsage.rss() + 400_000_000;
    const greedy = open(await writePackage(await mkdtemp(join(folder, "greedy-"))), { allowance });
    await expect(run({ does: "grow" }, { on: greedy })).rejects.toMatchObject({
      code: "out_of_memory",
    });
    expect(await run({ does: "finish" }, { on: greedy })).toHaveLength(2);
    await greedy.close();
  });

  test.concurrent("refuses a model file that does not hash as model.json says, by name", async () => {
    const wrong = await mkdtemp(join(folder, "wrong-"));
    const refused = open(await writePackage(wrong, { sha256: "0".repeat(64) }));
    await expect(refused.ready()).rejects.toThrow(/graph\.onnx must hash to 0{64}/);
    await refused.close();
  });
});
