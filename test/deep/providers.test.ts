import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPackageRunner, runCanary, runnerParts } from "#framemill/bin/package-runner.js";
import { type Config, loadConfig } from "#framemill/config.js";
import { loadModelPackage } from "#framemill/runtime/packages/model-package.js";
import { chooseProviders, probeProvider } from "#framemill/runtime/ort/choose-providers.js";
import { Graph } from "../support/onnx.js";
import { writeGroupedAttentionGraph } from "../support/grouped-attention-graph.js";

/** A Vulkan device in software, of Debian's chromium. */
const SOFTWARE_DEVICE = "/usr/lib/chromium/vk_swiftshader_icd.json";
const VULKAN = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] as const;

const model = await loadModelPackage(
  fileURLToPath(new URL("../../models/service-embed-1", import.meta.url)),
);

/** The vector of a text, computed by an inference process with these providers. */
async function embed(
  providers: readonly string[],
  more: Partial<Config> = {},
): Promise<Float32Array> {
  const config = { ...loadConfig({ threads: 1 }), providers: [...providers], ...more };
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

const FRAMEMILL = fileURLToPath(new URL("../../dist/bin/framemill.js", import.meta.url));
const KEPT_CACHES = fileURLToPath(
  new URL("../fixtures/inference/kept-caches.mjs", import.meta.url),
);

/** Logits and keys of a decoder whose caches its runs keep, and how many of those stayed on a device. */
async function decode(path: string, providers: readonly string[]): Promise<[number[], number]> {
  const args = [KEPT_CACHES, path, ...providers];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: process.env });
  return JSON.parse(stdout) as [number[], number];
}

const REPLAYED = fileURLToPath(
  new URL("../fixtures/inference/replayed-steps.mjs", import.meta.url),
);

/** Numbers of eight steps, and where their constants lay. */
async function replay(...args: readonly string[]): Promise<[number[], string]> {
  const { stdout } = await promisify(execFile)(process.execPath, [REPLAYED, ...args], {
    env: process.env,
  });
  return JSON.parse(stdout) as [number[], string];
}

/** velocity = tanh(sample · w + context), float32 [rows, 16]. */
function writeDenoiser(path: string): void {
  const graph = new Graph();
  const sample = graph.input("sample", "float32", ["rows", 16]);
  const context = graph.input("context", "float32", [1, 16]);
  const weights = graph.floats([16, 16], (index) => Math.cos(index) / 4);
  const sum = graph.node("Add", [graph.node("MatMul", [sample, weights]), context]);
  graph.output("velocity", "float32", ["rows", 16], graph.node("Tanh", [sum]));
  graph.write(path);
}

describe("execution providers", () => {
  test("the processor proves itself, and is what auto falls back to", async () => {
    await probeProvider("cpu");
    expect((await chooseProviders(["auto"])).providers.at(-1)).toBe("cpu");
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

    test(
      "a provider is left for the processor where that is faster",
      { timeout: 120_000 },
      async () => {
        const env = { ...process.env, PROVIDERS: "auto" };
        const doctor = promisify(execFile)(process.execPath, [FRAMEMILL, "doctor", "--json"], {
          env,
        });
        const findings = JSON.parse((await doctor).stdout) as { part: string; verdict: string }[];
        expect(findings.find(({ part }) => part === "inference")?.verdict).toMatch(
          /webgpu works; .*auto takes cpu: a step takes [\d.]+ ms on cpu, more than [\d.]+ ms on webgpu/,
        );
      },
    );

    test.each([
      ["webgpu.device=1", /PROVIDERS asks for webgpu, .+: webgpu has no option device: there are/],
      [
        "webgpu.preferredLayout=ZZ",
        /webgpu with preferredLayout=ZZ: .+Invalid preferred layout: ZZ/,
      ],
      ["cudda.device_id=1", /cudda is no execution provider: there are cpu, cuda/],
    ])(
      "an option that a provider has not, or does not take, is named: %s",
      async (option, said) => {
        await expect(embed(["webgpu"], { providerOptions: [option] })).rejects.toThrow(said);
      },
    );

    test("a worker tells where nodes ran, and does not get ready where too many fell back", async () => {
      const config = { ...loadConfig({ threads: 1 }), providers: ["webgpu"] };
      const { placements } = await runCanary(model, runnerParts(config));
      expect(placements).toMatchObject([
        { role: "encoder", hostOperators: { Gather: 1, Cast: 1 } },
      ]);
      expect(placements[0]?.nodes["webgpu"]).toBeGreaterThan(50);
      expect(placements[0]?.copiedBytes).toBeGreaterThan(0);
      await expect(embed(["webgpu"], { maxHostShare: 0.01 })).rejects.toThrow(
        /3\.6 % of a graph's nodes run on the CPU, MAX_HOST_SHARE allows 1 %: encoder: .+Gather × 1/,
      );
    });

    test(
      "steps that a device replays give the processor's numbers",
      { timeout: 120_000 },
      async () => {
        const folder = await mkdtemp(join(tmpdir(), "framemill-replayed-"));
        try {
          const path = join(folder, "denoiser.onnx");
          writeDenoiser(path);
          const [expected, host] = await replay(path, "cpu", "0");
          expect(host).toBe("context Cpu");
          for (const recorded of ["0", "1"]) {
            const [actual, place] = await replay(path, "webgpu", recorded);
            expect(place).toMatch(recorded === "0" ? /^context WebGPU/ : /^context Cpu/);
            const off = actual.map((value, at) => Math.abs(value - (expected[at] ?? Number.NaN)));
            expect(Math.max(...off)).toBeLessThan(1e-4);
            expect(actual).toHaveLength(19 * 16);
          }
        } finally {
          await rm(folder, { recursive: true });
        }
      },
    );

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
  });
});

function isThere(): boolean {
  if (existsSync(SOFTWARE_DEVICE)) return true;
  process.stderr.write("skipped: Debian's chromium with its software Vulkan is not installed\n");
  return false;
}
