import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeOnnx } from "../onnx-file.js";

export const MODEL = "grinder";

/** The package of a model that is one tiny graph. */
export async function writePackage(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, "grinder.onnx");
  writeOnnx(path, { operator: "Neg" });
  const bytes = await readFile(path);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const files = { grinder: { path: "grinder.onnx", sha256, byteLength: bytes.byteLength } };
  const manifest = {
    id: MODEL,
    modality: "toil",
    pipeline: "toil",
    files,
    execution: { providers: ["cpu"] },
    shapes: {},
    limits: {},
    memory: null,
    licence: "Apache-2.0",
    source: "made by a test",
    card: "README.md",
  };
  await writeFile(join(folder, "model.json"), JSON.stringify(manifest));
}
