import { randomFillSync } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";
import { cp, mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { hashFile } from "../../src/runtime/packages/checked-files.js";
import { externalisePackage } from "../../src/runtime/packages/externalise.js";
import { loadModelPackage, type ModelPackage } from "../../src/runtime/packages/model-package.js";
import { bytesField, bytesHeader, numberField } from "../../src/runtime/onnx/protobuf-write.js";

export interface LargePackages {
  readonly inline: ModelPackage;
  readonly external: ModelPackage;
}

/**
 * Two packages with the tokenizer of an embeddings model and the same 400 MB of random weights, inline and
 * beside the graph; undefined where there is no such model.
 */
export async function writeLargePackages(
  packages: readonly ModelPackage[],
  folder: string,
): Promise<LargePackages | undefined> {
  const model = packages.find(
    ({ modality, pipeline }) => modality === "embeddings" && pipeline === "encoder",
  );
  const graph = model?.files["encoder"];
  if (model === undefined || graph === undefined) return undefined;
  const [inlinePath, externalPath] = [join(folder, "inline"), join(folder, "external")];
  await mkdir(inlinePath);
  for (const { path } of Object.values(model.files))
    if (path !== graph.path) await cp(join(model.path, path), join(inlinePath, path));
  const path = "model.onnx";
  writeEncoder(join(inlinePath, path));
  const { size: byteLength } = await stat(join(inlinePath, path));
  const sha256 = await hashFile(join(inlinePath, path));
  const { path: _, ...manifest } = model;
  const files = { ...model.files, encoder: { path, sha256, byteLength } };
  const written = { ...manifest, id: "large", files, memory: null };
  await writeFile(join(inlinePath, "model.json"), JSON.stringify(written));
  await cp(inlinePath, externalPath, { recursive: true });
  await externalisePackage(await loadModelPackage(externalPath));
  return {
    inline: await loadModelPackage(inlinePath),
    external: await loadModelPackage(externalPath),
  };
}

const WIDTH = 2_048;
const TOKENS = 18_000;
const LAYERS = 15;
const [FLOAT, INT64] = [1, 7];

/**
 * A token table of 147 MB and fifteen matrix products of 17 MB each, float32: `input_ids` [batch, tokens] →
 * `last_hidden_state` [batch, tokens, 2048] (onnx.proto3).
 */
function writeEncoder(path: string): void {
  const weights = [
    { name: "table", dims: [TOKENS, WIDTH] },
    ...Array.from({ length: LAYERS }, (_, at) => ({ name: `w${at}`, dims: [WIDTH, WIDTH] })),
  ];
  const nodes = weights.map(({ name }, at) => {
    const output = at === LAYERS ? "last_hidden_state" : `h${at}`;
    const inputs = at === 0 ? [name, "input_ids"] : [`h${at - 1}`, name];
    const ends = [...inputs.map((input) => bytesField(1, input)), bytesField(2, output)];
    return bytesField(1, ...ends, bytesField(4, at === 0 ? "Gather" : "MatMul"));
  });
  const values = [
    bytesField(11, value("input_ids", INT64, ["batch", "tokens"])),
    bytesField(11, value("attention_mask", INT64, ["batch", "tokens"])),
    bytesField(12, value("last_hidden_state", FLOAT, ["batch", "tokens", WIDTH])),
  ];
  const tensors = weights.map(({ name, dims }) => {
    const byteLength = dims.reduce((product, dim) => product * dim, 4);
    const fields = [...dims.map((dim) => numberField(1, dim)), numberField(2, FLOAT)];
    const head = Buffer.concat([...fields, bytesField(8, name), bytesHeader(9, byteLength)]);
    return { head: [bytesHeader(5, head.length + byteLength), head], byteLength };
  });
  const outline = [...nodes, bytesField(2, "encoder"), ...values];
  const graphLength =
    Buffer.concat(outline).length +
    tensors.reduce((sum, { head, byteLength }) => sum + Buffer.concat(head).length + byteLength, 0);
  const target = openSync(path, "wx");
  try {
    const opset = bytesField(8, bytesField(1, ""), numberField(2, 17));
    writeSync(target, Buffer.concat([numberField(1, 8), opset, bytesHeader(7, graphLength)]));
    writeSync(target, Buffer.concat(outline));
    for (const { head, byteLength } of tensors) {
      writeSync(target, Buffer.concat(head));
      writeSync(target, randomFloats(byteLength));
    }
  } finally {
    closeSync(target);
  }
}

function value(name: string, type: number, dims: readonly (string | number)[]): Buffer {
  const shape = dims.map((dim) =>
    bytesField(1, typeof dim === "number" ? numberField(1, dim) : bytesField(2, dim)),
  );
  const tensor = bytesField(1, numberField(1, type), bytesField(2, ...shape));
  return Buffer.concat([bytesField(1, name), bytesField(2, tensor)]);
}

/** Uniform in ±2^-6, whose exponent bits are fixed and whose others are random. */
function randomFloats(byteLength: number): Buffer {
  const bytes = randomFillSync(Buffer.alloc(byteLength));
  for (let at = 0; at < byteLength; at += 4) {
    bytes[at + 3] = 0x3c | ((bytes[at + 3] ?? 0) & 0x80);
    bytes[at + 2] = (bytes[at + 2] ?? 0) & 0x7f;
  }
  return bytes;
}
