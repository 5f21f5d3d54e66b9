import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { GraphRun } from "#framemill/core/modality.js";
import { hashFile } from "#framemill/runtime/packages/checked-files.js";
import { gaussianNoise } from "#framemill/models/sampling/noise.js";
import { writeSamplerGraph } from "#framemill/models/diffusion/sampler-graph.js";
import { externaliseWeights } from "#framemill/runtime/packages/externalise.js";
import { chainSteps, STEP_ROLE } from "#framemill/models/diffusion/step-chain.js";
import { createMultiStepBatch } from "#framemill/models/diffusion/multi-step-batch.js";
import { fusePackage } from "#framemill/models/diffusion/fuse-package.js";
import { updateManifest } from "#framemill/runtime/packages/model-package.js";
import { loadModelPackage, verifyModelPackage } from "#framemill/runtime/packages/model-package.js";
import { readOnnxOutline } from "#framemill/runtime/onnx/onnx-outline.js";
import { openSessions } from "#framemill/runtime/ort/session.js";
import {
  type CheckpointKind,
  decodeCheckpoint,
  type DenoiseState,
  encodeCheckpoint,
} from "#framemill/models/video/checkpoint.js";
import { denoise, encodePrompts, latentLength } from "#framemill/models/motion/denoise.js";
import { type MotionModel, openMotionModel } from "#framemill/models/motion/model.js";
import type { VideoRequest } from "#framemill/modalities/video/request.js";
import { writeOnnx } from "../../support/onnx.js";

const starterPath = fileURLToPath(new URL("../../../models/service-motion-1", import.meta.url));
const root = mkdtempSync(join(tmpdir(), "video-sampler-"));
const fusedPath = join(root, "service-motion-1");
const runs: GraphRun[] = [];
let plain: MotionModel;
let fused: MotionModel;

beforeAll(async () => {
  cpSync(starterPath, fusedPath, { recursive: true });
  await fusePackage(await loadModelPackage(fusedPath));
  plain = await open(starterPath);
  fused = await open(fusedPath);
});
afterAll(async () => {
  await plain?.close();
  await fused?.close();
  rmSync(root, { recursive: true, force: true });
});

async function open(modelPath: string): Promise<MotionModel> {
  const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "" };
  const onRun = (run: GraphRun) => void runs.push(run);
  return await openMotionModel(await loadModelPackage(modelPath), {
    modelPath,
    threads: 2,
    onRun,
    ...programs,
  });
}

function clip(prompt: string, seed: number): VideoRequest {
  const size = { width: 1280, height: 720, seconds: 4, quality: "fast", sound: false } as const;
  const rest = { negativePrompt: "a dull day", image: null, metadata: null };
  return { model: "service-motion-1", prompt, seed, ...size, ...rest };
}

const boat = clip("a red boat on the ocean", 1);
const fox = clip("a fox in the snow", 7);

interface Schedule {
  readonly model: MotionModel;
  readonly request: VideoRequest;
  readonly picture?: Float32Array;
  readonly signal?: AbortSignal;
  readonly start?: DenoiseState | undefined;
  readonly onState?: (state: DenoiseState) => void;
}

/** The latents, and after which steps the pipeline had a say. */
async function latents({ model, request, picture, onState = () => {}, ...rest }: Schedule) {
  const { signal = new AbortController().signal, start } = rest;
  const context = await encodePrompts(model, request);
  const given = { model, request, context, picture: picture ?? null, signal, start };
  const states = denoise(given);
  const borders: number[] = [];
  let next = await states.next();
  for (; next.done !== true; next = await states.next()) {
    borders.push(next.value.step);
    onState(next.value);
  }
  return { values: next.value, borders };
}

function deviation(one: Float32Array, other: Float32Array): number {
  expect(one.length).toBe(other.length);
  return Math.max(...one.map((value, at) => Math.abs(value - (other[at] ?? Number.NaN))));
}

/** Of values up to 4: the loop's sums are rounded once a step, the graph's after each operation. */
const TOLERANCE = 1e-4;

describe("a package whose denoiser was fused with its loop", () => {
  test.each([
    ["text alone", undefined],
    ["a picture", gaussianNoise(5, 7 * 64)],
  ])(
    "makes of %s the latents that the step loop makes, by the sampler alone",
    async (_, picture) => {
      const given = { request: boat, ...(picture && { picture }) };
      const expected = await latents({ model: plain, ...given });
      expect(expected.borders).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      runs.length = 0;
      const found = await latents({ model: fused, ...given });
      expect(found.borders.at(-1)).toBe(10);
      const samplerRuns = runs.filter(({ role }) => role === "sampler");
      expect(samplerRuns).toHaveLength(found.borders.length);
      expect(runs.filter(({ role }) => role === "denoiser")).toEqual([]);
      expect(Math.max(...expected.values.map(Math.abs))).toBeGreaterThan(1);
      expect(deviation(found.values, expected.values)).toBeLessThan(TOLERANCE);
    },
  );

  test("makes them by its graph of one step as well, in runs that follow each other", async () => {
    const graphs = { [STEP_ROLE]: join(fusedPath, "sampler-step.onnx") };
    const sessions = await openSessions({ graphs, threads: 2, providers: ["cpu"] });
    try {
      // By this clock every run takes 75 ms.
      let callsMs = 0;
      const nowMs = () => (callsMs += 75);
      const batch = createMultiStepBatch({ run: chainSteps(sessions), maxRows: 8, nowMs });
      const model: MotionModel = { ...fused, denoising: { graph: STEP_ROLE, batch } };
      const found = await latents({ model, request: boat });
      expect(found.borders).toEqual([1, 4, 10]);
      const expected = await latents({ model: plain, request: boat });
      expect(deviation(found.values, expected.values)).toBeLessThan(TOLERANCE);
    } finally {
      await sessions.close();
    }
  });

  test("goes on from a checkpoint between two runs, and is cancelled there", async () => {
    const whole = await latents({ model: fused, request: fox });
    const length = latentLength(fused, fox);
    const kind: CheckpointKind = { modelId: "service-motion-1", steps: 10, length };
    const states: DenoiseState[] = [];
    const cancel = new AbortController();
    // A new process knows no times yet: its first run takes one step.
    const fresh = await open(fusedPath);
    try {
      const left = latents({
        model: fresh,
        request: fox,
        signal: cancel.signal,
        onState: (state) => {
          states.push(state);
          cancel.abort();
        },
      });
      await expect(left).rejects.toThrow("aborted");
    } finally {
      await fresh.close();
    }
    const [first, ...more] = states;
    if (first === undefined) throw new Error("nothing was done");
    expect([first.step, more]).toEqual([1, []]);
    const start = decodeCheckpoint(encodeCheckpoint(kind, first), kind);
    const resumed = await latents({ model: fused, request: fox, start });
    expect(resumed.values).toEqual(whole.values);
  });

  test("lets clips at different steps share runs, each with the latents it has alone", async () => {
    const start = { step: 4, sample: gaussianNoise(11, latentLength(fused, fox)) };
    const alone = [
      await latents({ model: fused, request: boat }),
      await latents({ model: fused, request: fox, start }),
    ];
    // A new process knows no times yet: the first run of either number of clips takes one step.
    const fresh = await open(fusedPath);
    try {
      runs.length = 0;
      const both = await Promise.all([
        latents({ model: fresh, request: boat }),
        latents({ model: fresh, request: fox, start }),
      ]);
      expect(both.map(({ values }) => values)).toEqual(alone.map(({ values }) => values));
      const borders = both.flatMap((one) => one.borders);
      expect(runs.filter(({ role }) => role === "sampler").length).toBeLessThan(borders.length);
    } finally {
      await fresh.close();
    }
  });

  test("is refused where its sampler is not the file that was hashed", async () => {
    const changedPath = join(root, "changed");
    cpSync(fusedPath, changedPath, { recursive: true });
    const path = join(changedPath, "sampler.onnx");
    await verifyModelPackage(await loadModelPackage(changedPath));
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    await expect(verifyModelPackage(await loadModelPackage(changedPath))).rejects.toThrow(
      /sampler\.onnx must hash to [0-9a-f]{64}, hashes to/,
    );
  });
});

test("a sampler of a denoiser whose weights lie beside it names them there", async () => {
  const path = join(root, "beside");
  cpSync(starterPath, path, { recursive: true });
  const { files } = await loadModelPackage(path);
  const graph = join(path, "denoiser.external.onnx");
  externaliseWeights(join(path, "denoiser.onnx"), graph, `${graph}.data`);
  const denoiser = { path: "denoiser.external.onnx", sha256: await hashFile(graph), byteLength: 1 };
  await updateManifest(path, { files: { ...files, denoiser } });
  await fusePackage(await loadModelPackage(path));
  const sampler = join(path, "sampler.onnx");
  const places = readOnnxOutline(sampler).externalTensors.map(({ location }) => location);
  expect(new Set(places)).toEqual(new Set(["denoiser.external.onnx.data"]));
  expect(statSync(sampler).size).toBeLessThan(500_000);
  const model = await open(path);
  try {
    const found = await latents({ model, request: boat });
    expect(found.values).toEqual((await latents({ model: fused, request: boat })).values);
  } finally {
    await model.close();
  }
});

test("a denoiser that speaks of other things is refused in a sentence", () => {
  const path = join(root, "other.onnx");
  const make = () => writeSamplerGraph(path, join(root, "none.onnx"));
  writeOnnx(path, { inputs: ["sample", "timestep"], outputs: ["velocity"] });
  expect(make).toThrow(
    "a sampler is made of a denoiser from sample, timestep, encoder_hidden_states to velocity, not from sample, timestep to velocity",
  );
  const inputs = ["sample", "timestep", "encoder_hidden_states"];
  writeOnnx(path, { inputs, outputs: ["velocity"], opset: 12 });
  expect(make).toThrow(
    "the denoiser is of IR version 8 and operator set 12, a sampler needs 4 and 13",
  );
  const nodes = [{ input: ["sample"], output: ["noise"], op_type: "Identity" }];
  writeOnnx(path, { inputs, outputs: ["velocity"], nodes });
  expect(make).toThrow("the denoiser calls a value noise, which the sampler needs as a name");
});
