import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelManifest } from "#framemill/runtime/packages/model-package.js";

/** A model.json of one CPU model without files; `own` replaces fields. */
export function modelManifest(
  own: Partial<ModelManifest> & Pick<ModelManifest, "id" | "modality">,
): ModelManifest {
  return {
    pipeline: own.modality,
    files: {},
    execution: { providers: ["cpu"], concurrency: 1 },
    shapes: {},
    limits: {},
    memory: null,
    licence: "Apache-2.0",
    source: "made by a test",
    card: "README.md",
    ...own,
  };
}

/** Writes model.json and its files, given as role → [path, content], into a folder that is there. */
export function writeModelPackage(
  folder: string,
  own: Parameters<typeof modelManifest>[0],
  contents: Readonly<Record<string, readonly [string, Uint8Array]>> = {},
): void {
  const files = Object.entries(contents).map(([role, [path, bytes]]) => {
    writeFileSync(join(folder, path), bytes);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return [role, { path, sha256, byteLength: bytes.byteLength }] as const;
  });
  const manifest = modelManifest({ files: Object.fromEntries(files), ...own });
  writeFileSync(join(folder, "model.json"), JSON.stringify(manifest));
}
