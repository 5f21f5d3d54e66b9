import { fileURLToPath } from "node:url";
import { JobError } from "#framemill/core/errors.js";
import type { ModelInfo } from "#framemill/core/modality.js";
import type { Front } from "#framemill/front/front.js";
import { listModelPackages, modelInfo } from "#framemill/runtime/packages/model-package.js";
import { startScriptedWorker } from "../../support/front-workers.js";
import { type Harness, startHarness } from "../../support/front-harness.js";

const modelsDir = fileURLToPath(new URL("../../../models", import.meta.url));

export interface FuzzFront {
  readonly harness: Harness;
  /** Serves all endpoints. */
  readonly front: Front;
  readonly models: readonly ModelInfo[];
  close(): Promise<void>;
}

/** A front over Postgres with the models of this repository; its worker refuses every job it gets. */
export async function startFuzzFront(): Promise<FuzzFront> {
  const harness = await startHarness("postgres");
  const models = await Promise.all((await listModelPackages(modelsDir)).map(modelInfo));
  const front = await harness.startReplica({ models });
  // oxlint-disable-next-line require-yield -- it ends before its first event
  const worker = await startScriptedWorker({ ...harness, models }, async function* refuse() {
    throw new JobError("content_policy_violation", "refused by the worker");
  });
  return {
    harness,
    front,
    models,
    async close() {
      await worker.stop();
      await harness.close();
    },
  };
}
