import pino from "pino";
import { afterAll, beforeAll, expect, it } from "vitest";
import { PACE_SAMPLE } from "#framemill/core/scaling.js";
import { createPaceNotes, readPaces } from "#framemill/front/ledger/paces.js";
import { startHarness, type Harness } from "../../support/front-harness.js";

let harness: Harness;
beforeAll(async () => (harness = await startHarness()));
afterAll(async () => await harness?.close());

const clip = { modality: "video", model: "motion", tier: "fast" };
const vectors = { modality: "embeddings", model: "vectors", tier: "" };

/** Notes of a replica, written down. */
async function writeRuns(runs: readonly (typeof clip & { readonly gpuMs: number })[]) {
  const db = harness.database;
  const log = pino({ level: "silent" });
  const concurrencyOf = (model: string) => (model === vectors.model ? 10 : 1);
  const notes = createPaceNotes({ db, concurrencyOf, log });
  for (const { gpuMs, ...kind } of runs)
    notes.note({ ...kind, work: 2, gpu_ms: gpuMs, lasted_seconds: (2 * gpuMs) / 1_000 });
  await notes.close();
}

const paceOf = async (kind: typeof clip) => {
  const paces = await readPaces(harness.database);
  const pace = paces.find(({ model }) => model === kind.model);
  return { worker: pace?.seconds_per_unit, lasted: pace?.lasted_per_unit };
};

it("keeps the last fifty runs of each kind of job, however many runs of others follow", async () => {
  await writeRuns([{ ...clip, gpuMs: 8_000 }]);
  const crowd = Array.from({ length: 20 * PACE_SAMPLE }, () => ({ ...vectors, gpuMs: 200 }));
  await Promise.all([writeRuns(crowd), writeRuns(crowd)]);
  expect(await paceOf(clip)).toEqual({ worker: 4, lasted: 8 });
  expect(await paceOf(vectors)).toEqual({ worker: 0.01, lasted: 0.2 });

  await writeRuns(Array.from({ length: PACE_SAMPLE / 2 - 1 }, () => ({ ...vectors, gpuMs: 400 })));
  expect(await paceOf(vectors)).toEqual({ worker: 0.01, lasted: 0.2 });
  await writeRuns(Array.from({ length: 2 }, () => ({ ...vectors, gpuMs: 400 })));
  expect(await paceOf(vectors)).toEqual({ worker: 0.02, lasted: 0.4 });
});
