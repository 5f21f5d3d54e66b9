import * as fc from "fast-check";
import type { ModelInfo } from "#framemill/core/modality.js";
import { listModalities } from "#framemill/modalities/registry.js";
import { type Edit, edits, mutate } from "./mutate.js";
import { NAUGHTY } from "./naughty.js";

/** An endpoint that takes a body, and a body that it takes. */
export interface Target {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export function targetsOf(models: readonly ModelInfo[]): Target[] {
  return listModalities().flatMap((modality) => {
    const { path, aliases = [] } = modality.endpoint;
    const model = models.find((each) => each.modality === (modality.modelsOf ?? modality.name));
    const body = { model: model?.id ?? "none", ...OPTIONS, ...modality.example(model) };
    return [path, ...aliases].map((url) => ({ path: url, body }));
  });
}

/** Fields that most endpoints do not know: half of the cases keep some of them. */
const OPTIONS = { stream: false, seed: 1, metadata: { a: "b" } };

interface Change {
  /** Which of the body's values, and what becomes of it. */
  readonly where: number;
  readonly how: "replace" | "remove" | "wrap" | "rename" | "deepen";
  readonly value: unknown;
  readonly name: string;
}

/** A body's changes: as a value, and as the bytes of its text. */
export interface BodyCase {
  readonly target: number;
  readonly changes: readonly Change[];
  readonly edits: readonly Edit[] | null;
}

const naughty = fc.constantFrom(...NAUGHTY);
const value = fc.oneof(
  naughty,
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(-1, 0, 0.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, 5e-324, [], {}, [[]], null),
  fc.array(naughty, { maxLength: 50 }),
  fc.dictionary(naughty, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 20 }),
);
const change: fc.Arbitrary<Change> = fc.record({
  where: fc.nat(40),
  how: fc.constantFrom("replace", "replace", "replace", "remove", "wrap", "rename", "deepen"),
  value,
  name: fc.oneof(naughty, fc.constantFrom("stream", "n", "tools", "seconds", "image", "stop")),
});

export const bodyCases = fc.record({
  target: fc.nat(100),
  changes: fc.array(change, { maxLength: 5 }),
  edits: fc.option(edits, { freq: 3 }),
});

/** The body after its changes, as it goes over the wire. */
export function renderBody({ body }: Target, { changes, edits: bytes }: BodyCase): Buffer {
  const changed = changes.reduce<unknown>((whole, each) => {
    let index = each.where % countValues(whole);
    return walk(whole, (node) => (index-- === 0 ? changeValue(node, each) : node));
  }, withoutFiles(body));
  const text = Buffer.from(JSON.stringify(changed) ?? "");
  return bytes === null ? text : mutate(text, bytes);
}

/** A file has no form in JSON. */
function withoutFiles(body: Target["body"]): unknown {
  return walk(body, (node) => (node instanceof Uint8Array ? "UklGRg==" : node));
}

function changeValue(node: unknown, { how, value: own, name }: Change): unknown {
  if (how === "replace") return own;
  if (how === "wrap") return [node, node];
  if (how === "deepen") return Array.from({ length: 40 }).reduce((inner) => ({ a: inner }), node);
  if (typeof node !== "object" || node === null || Array.isArray(node)) return own;
  const entries = Object.entries(node);
  const chosen = entries.length === 0 ? 0 : name.length % entries.length;
  const kept = entries.filter((_, index) => index !== chosen);
  return Object.fromEntries(how === "remove" ? kept : [...kept, [name, entries[chosen]?.[1]]]);
}

function countValues(whole: unknown): number {
  let count = 0;
  walk(whole, (node) => {
    count++;
    return node;
  });
  return count;
}

/** The value with each of its parts, parents first, exchanged for what `visit` makes of it. */
function walk(whole: unknown, visit: (node: unknown) => unknown): unknown {
  const node = visit(whole);
  if (node !== whole || node instanceof Uint8Array) return node;
  if (Array.isArray(node)) return node.map((part) => walk(part, visit));
  if (typeof node !== "object" || node === null) return node;
  return Object.fromEntries(Object.entries(node).map(([name, part]) => [name, walk(part, visit)]));
}
