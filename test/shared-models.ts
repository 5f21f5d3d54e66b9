import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe } from "vitest";

const MODELS = fileURLToPath(new URL("../../shared/data/models", import.meta.url));

/** Folder of model files made by others; the tests that need it are skipped, aloud, where it is absent. */
export const sharedModelsDir = process.env["FRAMEMILL_TEST_MODELS"] ?? MODELS;

export const hasSharedModels = existsSync(join(sharedModelsDir, "INDEX.md"));
if (!hasSharedModels)
  process.stderr.write(
    `skipped: no published models in ${sharedModelsDir} (set FRAMEMILL_TEST_MODELS)\n`,
  );

/** `describe` for tests that read published models in place. */
type Describe = ReturnType<typeof describe.skipIf>;
// oxlint-disable-next-line vitest/valid-title, vitest/valid-describe-callback -- skipIf makes a describe, and is none
export const describeWithModels: Describe = describe.skipIf(!hasSharedModels);

export function sharedModel(...path: readonly string[]): string {
  return join(sharedModelsDir, ...path);
}
