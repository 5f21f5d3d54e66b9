import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Artifact } from "#framemill/core/artifact.js";
import { isProcessAlive } from "#framemill/core/processes.js";
import type { InferenceHost } from "#framemill/inference/host.js";
import type { ModelManifest } from "#framemill/inference/model-package.js";
import { createInferenceProcess } from "#framemill/inference/process.js";
import { writeModelPackage } from "../../support/model-manifest.js";

const entryPath = fileURLToPath(new URL("../../fixtures/inference/entry.mjs", import.meta.url));
const ownerPath = fileURLToPath(new URL("../../fixtures/inference/owner.mjs", import.meta.url));
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
  const open = (modelPath: string, more: { allowance?: number; onBroken?: () => void } = {}) =>
    createInferenceProcess({
      ...more,
      entryPath,
      setup: {
        modelPaths: [modelPath],
        threads: 1,
        ffmpegPath: "",
        ffprobePath: "",
        espeakPath: "",
      },
      stallMs: 1_500,
      cancelMs: 300,
      log,
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
    signal = new AbortController().signal,
    on: InferenceHost = host,
  ) => {
    const job = {
      id: "job_1",
      modality: "toy",
      model: "toy",
      request,
      expiresAtMs: 0,
      reportTo: "",
    };
    const readInput = async () => new Uint8Array(input.byteLength).fill(7);
    const events = [];
    for await (const event of on.run({ job, scratchPath: folder, readInput }, signal)) {
      events.push(event);
    }
    return events;
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

  test("that hangs is killed and its job fails with inference_stalled", async () => {
    await expect(run({ does: "hang" })).rejects.toMatchObject({ code: "inference_stalled" });
    expect(await run({ does: "finish" })).toHaveLength(2);
  });

  test("that hangs dies with a worker that is killed", async () => {
    const owner = spawn(process.execPath, [ownerPath, await writePackage(folder)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = await once(createInterface({ input: owner.stdout }), "line");
    const processId = Number(line);
    expect(isProcessAlive(processId)).toBe(true);
    owner.kill("SIGKILL");
    await expect.poll(() => isProcessAlive(processId), { timeout: 10_000 }).toBe(false);
  });

  test("stops a cancelled job and keeps its models, or is killed when it does not stop", async () => {
    const before = host.processId;
    await expect(run({ does: "wait" }, AbortSignal.timeout(100))).rejects.toMatchObject({
      code: "cancelled",
    });
    expect(host.processId).toBe(before);
    await expect(run({ does: "hang" }, AbortSignal.timeout(100))).rejects.toMatchObject({
      code: "cancelled",
    });
    expect(await run({ does: "finish" })).toHaveLength(2);
    expect(host.processId).not.toBe(before);
  });

  test("is replaced when its device is lost, and tells at the third loss", async () => {
    let told = 0;
    const fragile = open(await writePackage(await mkdtemp(join(folder, "gpu-"))), {
      onBroken: () => (told += 1),
    });
    const { signal } = new AbortController();
    const seen = new Set<number | undefined>();
    for (const losses of [1, 2, 3]) {
      await fragile.ready();
      seen.add(fragile.processId);
      await expect(run({ does: "lose the device" }, signal, fragile)).rejects.toMatchObject({
        code: "device_lost",
      });
      expect(told).toBe(losses === 3 ? 1 : 0);
      expect(await run({ does: "finish" }, signal, fragile)).toHaveLength(2);
    }
    expect(seen.size).toBe(3);
    await fragile.close();
  });

  test("is not ready again on a device that cannot make the example", async () => {
    let told = 0;
    const path = await writePackage(await mkdtemp(join(folder, "gone-")), {
      limits: { minSeconds: 1 },
    });
    const broken = open(path, { onBroken: () => (told += 1) });
    await broken.ready();
    const { signal } = new AbortController();
    await expect(run({ does: "lose the device" }, signal, broken)).rejects.toMatchObject({
      code: "device_lost",
    });
    let isReady = false;
    void broken.ready().then(
      () => (isReady = true),
      () => {},
    );
    await expect.poll(() => told, { timeout: 20_000 }).toBe(1);
    expect(isReady).toBe(false);
    await broken.close();
  });

  test("that holds more memory than it may is killed before the kernel chooses", async () => {
    const allowance = process.memoryUsage.rss() + 400_000_000;
    const greedy = open(await writePackage(await mkdtemp(join(folder, "greedy-"))), { allowance });
    const { signal } = new AbortController();
    await expect(run({ does: "grow" }, signal, greedy)).rejects.toMatchObject({
      code: "out_of_memory",
    });
    expect(await run({ does: "finish" }, signal, greedy)).toHaveLength(2);
    await greedy.close();
  });

  test("reports what a pipeline throws and lives on", async () => {
    const before = host.processId;
    await expect(run({ does: "fail" })).rejects.toMatchObject({
      code: "server_error",
      message: "NaN in the latents",
    });
    expect(host.processId).toBe(before);
  });

  test("refuses a model file that does not hash as model.json says, by name", async () => {
    const wrong = await mkdtemp(join(folder, "wrong-"));
    const refused = open(await writePackage(wrong, { sha256: "0".repeat(64) }));
    await expect(refused.ready()).rejects.toThrow(/graph\.onnx must hash to 0{64}/);
    await refused.close();
  });
});
