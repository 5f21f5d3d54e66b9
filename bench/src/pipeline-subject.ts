import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unixMs } from "../../src/core/clock.js";
import type { PipelineEvent } from "../../src/core/events.js";
import type { GraphRun, Modality, PipelineSetup } from "../../src/core/modality.js";
import { findPrices, type PriceTable, tierOf } from "../../src/core/prices.js";
import { priceOf } from "../../src/core/usage.js";
import { admitAlone } from "../../src/runtime/packages/admit-alone.js";
import { loadModelPackage, modelInfo } from "../../src/runtime/packages/model-package.js";

/** A model's own pipeline in this process, every run of its graphs noted. */
export interface PipelineSubject {
  readonly modelId: string;
  /** Admits a body as the front would and runs it to its end. */
  make(body: Record<string, unknown>): Promise<MadeRun>;
  close(): Promise<void>;
}

/** One request; times in Unix milliseconds with fractions. */
export interface MadeRun {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** The first piece of a streamed answer; null where nothing is streamed. */
  readonly firstChunkAtMs: number | null;
  /** When each file was there. */
  readonly filesAtMs: readonly number[];
  /** Pieces of bytes of a streamed answer, joined. */
  readonly bytes: Uint8Array;
  readonly runs: readonly GraphRun[];
  readonly output: unknown;
  /** What a caller pays. */
  readonly priceUsd: number;
}

export interface SubjectOptions {
  readonly modality: Modality;
  readonly setup: PipelineSetup;
  readonly prices: PriceTable;
}

export async function openSubject(options: SubjectOptions): Promise<PipelineSubject> {
  const { modality, setup } = options;
  const model = await loadModelPackage(setup.modelPath, setup.providers);
  const info = await modelInfo(model);
  let runs: GraphRun[] = [];
  const createPipeline = await modality.loadPipeline();
  const pipeline = await createPipeline({ ...setup, onRun: (run) => void runs.push(run) });
  const folder = await mkdtemp(join(tmpdir(), "framemill-bench-"));
  return {
    modelId: model.id,
    async make(body) {
      const { request, readInput } = await admitAlone({ body, modality, info });
      const scratchPath = await mkdtemp(join(folder, "job-"));
      const { signal } = new AbortController();
      runs = [];
      const startedAtMs = unixMs();
      const events = pipeline.run(request, { signal, scratchPath, readInput });
      const made = await collect(events);
      const endedAtMs = unixMs();
      await rm(scratchPath, { recursive: true });
      const priceUsd = priceUsdOf(options, { model: model.id, request, output: made.output });
      return { ...made, startedAtMs, endedAtMs, runs, priceUsd };
    },
    async close() {
      await pipeline.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function collect(events: AsyncIterable<PipelineEvent>) {
  const filesAtMs: number[] = [];
  const pieces: Uint8Array[] = [];
  let firstChunkAtMs: number | null = null;
  let output: unknown;
  for await (const event of events) {
    if (event.type === "file") filesAtMs.push(unixMs());
    else if (event.type === "output") output = event.output;
    else if (event.type === "chunk") {
      firstChunkAtMs ??= unixMs();
      if (event.chunk.type === "bytes") pieces.push(event.chunk.bytes);
    }
  }
  return { filesAtMs, firstChunkAtMs, bytes: Buffer.concat(pieces), output };
}

interface Sale {
  readonly model: string;
  readonly request: unknown;
  readonly output: unknown;
}

function priceUsdOf({ modality, prices }: SubjectOptions, { model, request, output }: Sale) {
  const tier = tierOf(modality, request);
  const row = { modality: modality.name, model, ...(tier !== undefined && { tier }) };
  return priceOf(findPrices(prices, row), modality.countUnits(request, output)) / 1e6;
}
