import { closeSync, cpSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { loadModelPackage, type ModelPackage } from "#framemill/runtime/packages/model-package.js";
import { readMessage, withProtobufFile } from "#framemill/runtime/onnx/protobuf-file.js";

/** Tensors of fewer bytes are shapes, axes and constants of the arithmetic. */
const LEAST_BYTES = 256;
/** Bytes of an element, by ONNX's number of its type: float32, uint8, int8, float16. */
const WIDTHS: Readonly<Record<number, number>> = { 1: 4, 2: 1, 3: 1, 10: 2 };
const FLOAT32 = 1;

interface Weights {
  readonly type: number;
  readonly start: number;
  readonly end: number;
}

/**
 * Copies a package with the elements of every weight tensor in random order: noise of the tensor's own
 * distribution. Everything else (graphs, tokenizer, settings, held-out cases) stays.
 */
export async function copyWithNoise(model: ModelPackage, folder: string): Promise<ModelPackage> {
  cpSync(model.path, folder, {
    recursive: true,
    filter: (path) => !path.startsWith(join(model.path, "train")),
  });
  const manifestPath = join(folder, "model.json");
  let manifest = await readFile(manifestPath, "utf8");
  const random = createRandom();
  for (const { path, sha256 } of Object.values(model.files)) {
    const file = join(folder, path);
    if (path.endsWith(".onnx")) shuffleWeights(file, findWeights(file), random);
    else if (path.endsWith(".safetensors")) shuffleWeights(file, [safetensorsBody(file)], random);
    else continue;
    const shuffled = createHash("sha256")
      .update(await readFile(file))
      .digest("hex");
    manifest = manifest.replace(sha256, shuffled);
  }
  await writeFile(manifestPath, manifest);
  return await loadModelPackage(folder);
}

/** Where the raw bytes of initialisers and of constants lie: TensorProto's `raw_data`. */
function findWeights(path: string): Weights[] {
  return withProtobufFile(path, (cursor) => {
    const found: Weights[] = [];
    const tensor = (end: number) => {
      let type = 0;
      let raw: readonly [number, number] = [0, 0];
      readMessage(cursor, end, {
        2: (value) => (type = value),
        9: (rawEnd) => (raw = [cursor.position, rawEnd]),
      });
      found.push({ type, start: raw[0], end: raw[1] });
    };
    const attribute = (end: number) => readMessage(cursor, end, { 5: tensor, 6: graph });
    const node = (end: number) => readMessage(cursor, end, { 5: attribute });
    const graph = (end: number): void => readMessage(cursor, end, { 1: node, 5: tensor });
    readMessage(cursor, cursor.size, { 7: graph });
    return found.filter(({ start, end }) => end - start >= LEAST_BYTES);
  });
}

/** After eight bytes of length and the JSON header; every tensor of the starters is float32. */
function safetensorsBody(path: string): Weights {
  const file = openSync(path, "r");
  const head = Buffer.alloc(8);
  readSync(file, head, 0, 8, 0);
  closeSync(file);
  return { type: FLOAT32, start: 8 + Number(head.readBigUInt64LE()), end: statSync(path).size };
}

type Random = () => number;

/** Numbers in 0..1, the same in every run (a linear congruential generator). */
function createRandom(): Random {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function shuffleWeights(path: string, weights: readonly Weights[], random: Random): void {
  const file = openSync(path, "r+");
  for (const { type, start, end } of weights) {
    const width = WIDTHS[type];
    if (width === undefined) continue;
    const bytes = Buffer.alloc(end - start);
    readSync(file, bytes, 0, bytes.length, start);
    shuffleElements(bytes, width, random);
    writeSync(file, bytes, 0, bytes.length, start);
  }
  closeSync(file);
}

/** Fisher and Yates. */
function shuffleElements(bytes: Buffer, width: number, random: Random): void {
  const held = Buffer.alloc(width);
  for (let index = bytes.length / width - 1; index > 0; index -= 1) {
    const [one, other] = [index * width, Math.floor(random() * (index + 1)) * width];
    bytes.copy(held, 0, one, one + width);
    bytes.copy(bytes, one, other, other + width);
    held.copy(bytes, other);
  }
}
