import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { ModelManifest } from "./model-package.js";

const object = z.record(z.string(), z.unknown());

/** Writes fields of a package's model.json anew, all or nothing; the others stay as they are. */
export async function updateManifest(
  folder: string,
  fields: Partial<Pick<ModelManifest, "files" | "memory">>,
): Promise<void> {
  const path = join(folder, "model.json");
  const before = object.parse(JSON.parse(await readFile(path, "utf8")));
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${JSON.stringify({ ...before, ...fields }, null, 2)}\n`);
  await rename(draft, path);
}
