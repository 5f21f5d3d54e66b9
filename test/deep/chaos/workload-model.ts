import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeModelPackage } from "../../support/model-manifest.js";
import { writeOnnx } from "../../support/onnx.js";

export const MODEL = "negate";

/** The package of a model that is one tiny graph. */
export async function writePackage(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, "negate.onnx");
  writeOnnx(path, { operator: "Neg" });
  const negate = ["negate.onnx", await readFile(path)] as const;
  writeModelPackage(folder, { id: MODEL, modality: "workload" }, { negate });
}
