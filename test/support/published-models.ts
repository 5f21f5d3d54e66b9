import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe } from "vitest";

/** Folder of model files that others made, named by FRAMEMILL_TEST_MODELS alone: most clones have none. */
export const publishedModelsDir = process.env["FRAMEMILL_TEST_MODELS"] ?? "";
export const hasPublishedModels =
  publishedModelsDir !== "" && existsSync(join(publishedModelsDir, "INDEX.md"));

/** `describe` for tests that read published models in place; skipped, and counted so, without them. */
type Describe = ReturnType<typeof describe.skipIf>;
// oxlint-disable-next-line vitest/valid-title, vitest/valid-describe-callback -- skipIf makes a describe, and is none
export const describeWithModels: Describe = describe.skipIf(!hasPublishedModels);

export function publishedModel(...path: readonly string[]): string {
  return join(publishedModelsDir, ...path);
}
