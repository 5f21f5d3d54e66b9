import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeModelPackage } from "./model-manifest.js";
import { Graph } from "./onnx.js";

/** A package whose logits are the mean red, green and blue of a picture, each −1 to 1. */
export function makePictureClassifier(labels: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "framemill-pictures-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const graph = new Graph();
  const pixels = graph.input("pixel_values", "float32", ["batch", 3, 8, 8]);
  const mean = graph.node("GlobalAveragePool", [pixels]);
  graph.output("logits", "float32", ["batch", 3], graph.node("Flatten", [mean]));
  const path = join(folder, "model.onnx");
  graph.write(path);
  const json = (value: unknown) => Buffer.from(JSON.stringify(value));
  const contents = {
    classifier: ["model.onnx", readFileSync(path)],
    config: ["config.json", json({ id2label: Object.fromEntries(labels.entries()) })],
    "preprocessor-config": ["preprocessor_config.json", json({ size: 8, resample: 2 })],
  } as const;
  const manifest = {
    id: "pictures",
    modality: "moderation",
    pipeline: "image-classifier",
    execution: { providers: ["cpu"], concurrency: 32 },
    shapes: { activation: "softmax", reads: ["image"] },
  };
  writeModelPackage(folder, manifest, contents);
  return folder;
}
