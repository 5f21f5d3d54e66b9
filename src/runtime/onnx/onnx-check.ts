import { stat } from "node:fs/promises";
import { posix } from "node:path";
import type { RequiredTensors } from "./required-tensors.js";
import type { ExternalTensor, OnnxOutline } from "./onnx-outline.js";

/** A graph as a person knows it. */
export interface NamedGraph {
  readonly role: string;
  /** Path in the model's folder. */
  readonly path: string;
  readonly outline: OnnxOutline;
}

const MAX_NAMES = 12;

/** Throws an error that names the first missing input or output, and what the graph has instead. */
export function checkTensors({ role, path, outline }: NamedGraph, required: RequiredTensors): void {
  for (const side of ["inputs", "outputs"] as const) {
    const names = outline[side].map(({ name }) => name);
    const missing = required[side].find(
      (alternatives) => !names.some((name) => fits(name, alternatives)),
    );
    if (missing === undefined) continue;
    const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : "";
    throw new Error(
      `the graph ${role} (${path}) has no ${side.slice(0, -1)} ${missing.join(" or ")}: its ${side} are ${names.slice(0, MAX_NAMES).join(", ")}${more}`,
    );
  }
}

function fits(name: string, alternatives: readonly string[]): boolean {
  return alternatives.some((wanted) =>
    wanted.endsWith("*") ? name.startsWith(wanted.slice(0, -1)) : name === wanted,
  );
}

/** Paths, in the model's folder, of the files that hold the graph's weights. Throws for one that leaves it. */
export function externalFiles({ role, path, outline }: NamedGraph): string[] {
  for (const tensor of outline.externalTensors)
    refuseOutside(tensor, `the graph ${role} (${path})`);
  const folder = posix.dirname(path);
  const locations = new Set(outline.externalTensors.map(({ location }) => location));
  return [...locations].map((location) => (folder === "." ? location : `${folder}/${location}`));
}

/** ONNX Runtime would follow a path out of the folder; a published model has no reason to. */
function refuseOutside({ name, location }: ExternalTensor, graph: string): void {
  if (location !== "" && location !== "." && location !== ".." && !/[\\/]|^[a-z]:/i.test(location))
    return;
  throw new Error(
    `${graph} keeps the tensor ${name} in ${JSON.stringify(location)}: it must be a file beside the graph`,
  );
}

/**
 * Throws an error that names graph, tensor and file where weights are missing or end too early.
 * `locate` gives the real place of a path of the model's folder, or undefined.
 */
export async function checkExternalData(
  graph: NamedGraph,
  locate: (path: string) => string | undefined,
): Promise<void> {
  const folder = posix.dirname(graph.path);
  for (const path of externalFiles(graph)) {
    const place = locate(path);
    const size = place === undefined ? undefined : (await stat(place).catch(() => undefined))?.size;
    const own = graph.outline.externalTensors.filter(
      ({ location }) => posix.join(folder, location) === path,
    );
    const [first] = own;
    const where = `the graph ${graph.role} (${graph.path}) keeps the tensor`;
    if (size === undefined) throw new Error(`${where} ${first?.name} in ${path}, which is missing`);
    const beyond = own.find(({ offset, byteLength = 0 }) => offset + byteLength > size);
    if (beyond === undefined) continue;
    throw new Error(
      `${where} ${beyond.name} in ${path} up to byte ${beyond.offset + (beyond.byteLength ?? 0)}, but the file ends at ${size}`,
    );
  }
}

/** What ONNX Runtime 1.30 says of operators that it does not have. */
const UNKNOWN_OPERATOR = [
  /No Op registered for (\w+)/,
  /Fatal error: ([\w.]+:\w+)\(-?\d+\) is not a registered function/,
  /Could not find an implementation for (\w+\(\d+\))/,
];
const TOO_NEW = [/Unsupported model IR version: (\d+)/, /Opset (\d+) is under development/];

/** What ONNX Runtime says of a graph that it cannot load, as a sentence for the graph's owner. */
export function explainOpenFailure(graph: string, reason: string): string {
  const captured = (patterns: readonly RegExp[]) =>
    patterns.map((pattern) => pattern.exec(reason)?.[1]).find((word) => word !== undefined);
  const operator = captured(UNKNOWN_OPERATOR);
  if (operator !== undefined)
    return `the graph ${graph} uses the operator ${operator}, which this ONNX Runtime does not have`;
  const version = captured(TOO_NEW);
  if (version !== undefined)
    return `the graph ${graph} is of version ${version}, which is newer than this ONNX Runtime`;
  return `the graph ${graph} does not open: ${reason}`;
}
