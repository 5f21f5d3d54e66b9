import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPackageRunner, runnerParts } from "#framemill/bin/package-runner.js";
import { loadConfig } from "#framemill/config.js";
import { writeStepGraph } from "#framemill/models/diffusion/sampler-graph.js";
import { loadModelPackage } from "#framemill/runtime/packages/model-package.js";
import { chooseProviders, probeProvider } from "#framemill/runtime/ort/providers.js";
import { writeGroupedAttentionGraph } from "../support/grouped-attention-graph.js";

/** A Vulkan device in software, of Debian's chromium. */
const SOFTWARE_DEVICE = "/usr/lib/chromium/vk_swiftshader_icd.json";
const VULKAN = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] as const;

const model = await loadModelPackage(
  fileURLToPath(new URL("../../models/service-embed-1", import.meta.url)),
);

/** The vector of a text, computed by an inference process with these providers. */
async function embed(providers: readonly string[]): Promise<Float32Array> {
  const config = { ...loadConfig({ threads: 1 }), providers: [...providers] };
  const runner = await openPackageRunner(model, runnerParts(config));
  try {
    const { signal } = new AbortController();
    const { output } = await runner.make({ input: "a boat on the sea" }, signal);
    const { vectors } = output as { readonly vectors: string };
    return new Float32Array(Uint8Array.from(Buffer.from(vectors, "base64")).buffer);
  } finally {
    await runner.close();
  }
}

const KEPT_CACHES = fileURLToPath(
  new URL("../fixtures/inference/kept-caches.mjs", import.meta.url),
);

/** Logits and keys of a decoder whose caches its runs keep, and how many of those stayed on a device. */
async function decode(path: string, providers: readonly string[]): Promise<[number[], number]> {
  const args = [KEPT_CACHES, path, ...providers];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: process.env });
  return JSON.parse(stdout) as [number[], number];
}

const DENOISER = fileURLToPath(
  new URL("../../models/service-motion-1/denoiser.onnx", import.meta.url),
);
const KEPT_LATENTS = fileURLToPath(
  new URL("../fixtures/inference/kept-latents.mjs", import.meta.url),
);

/** Latents of three steps in a chain and of each by itself, and how many stayed on a device. */
async function sample(path: string, providers: readonly string[]) {
  const args = [KEPT_LATENTS, path, ...providers];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: process.env });
  return JSON.parse(stdout) as [chained: number[], single: number[], stayed: number];
}

function deviation(actual: readonly number[], expected: readonly number[]): number {
  return Math.max(...actual.map((value, at) => Math.abs(value - (expected[at] ?? Number.NaN))));
}

describe("execution providers", () => {
  test("the processor proves itself, and is what auto falls back to", async () => {
    await probeProvider("cpu");
    expect((await chooseProviders(["auto"])).at(-1)).toBe("cpu");
  });

  test("a worker that is asked for a device it has not does not get ready on another", async () => {
    await expect(embed(["tensorrt"])).rejects.toThrow(
      /PROVIDERS asks for tensorrt, which does not run here: .+/,
    );
  });

  describe.runIf(isThere())("on a Vulkan device", () => {
    const before = VULKAN.map((name) => process.env[name]);
    beforeAll(() => {
      for (const name of VULKAN) process.env[name] = SOFTWARE_DEVICE;
    });
    afterAll(() => {
      for (const [index, name] of VULKAN.entries()) {
        const value = before[index];
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    });

    test("WebGPU gives the processor's numbers", { timeout: 120_000 }, async () => {
      const [actual, expected] = [await embed(["webgpu"]), await embed(["cpu"])];
      expect(actual).toHaveLength(expected.length);
      const off = actual.map((value, index) => Math.abs(value - (expected[index] ?? Number.NaN)));
      expect(Math.max(...off)).toBeLessThan(1e-4);
    });

    test("what runs keep stays on the device between them", { timeout: 120_000 }, async () => {
      const folder = await mkdtemp(join(tmpdir(), "framemill-kept-"));
      try {
        const path = join(folder, "model.onnx");
        writeGroupedAttentionGraph(path);
        const [expected, none] = await decode(path, ["cpu"]);
        const [actual, stayed] = await decode(path, ["webgpu", "cpu"]);
        expect([none, stayed]).toEqual([0, 4]);
        const off = actual.map((value, index) => Math.abs(value - (expected[index] ?? Number.NaN)));
        expect(Math.max(...off)).toBeLessThan(1e-4);
        expect(actual).toHaveLength(expected.length);
      } finally {
        await rm(folder, { recursive: true });
      }
    });

    test("latents stay on the device from step to step", { timeout: 120_000 }, async () => {
      const folder = await mkdtemp(join(tmpdir(), "framemill-steps-"));
      try {
        const path = join(folder, "step.onnx");
        writeStepGraph(DENOISER, path);
        const [expected, , none] = await sample(path, ["cpu"]);
        const [chained, single, stayed] = await sample(path, ["webgpu", "cpu"]);
        expect([none, stayed]).toEqual([0, 3]);
        expect(chained).toEqual(single);
        expect(chained).toHaveLength(expected.length);
        // Of values up to 4: states that no prompt has make the denoiser magnify differences.
        expect(deviation(chained, expected)).toBeLessThan(1e-2);
      } finally {
        await rm(folder, { recursive: true });
      }
    });
  });
});

function isThere(): boolean {
  if (existsSync(SOFTWARE_DEVICE)) return true;
  process.stderr.write("skipped: Debian's chromium with its software Vulkan is not installed\n");
  return false;
}
