import { createHash, randomUUID } from "node:crypto";
import { chmod, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { readOnnxOutline } from "../onnx/onnx-outline.js";
import { ort } from "./api.js";

/** A graph in a file, or what was made of it. */
export interface GraphSource {
  readonly path: string;
  /** What is opened in place of the file. */
  readonly content?: Buffer | undefined;
}

/** A graph whose optimised form may be kept. */
export interface CacheableGraph extends GraphSource {
  readonly providers: readonly string[];
}

/** Larger graphs take their time for their weights, which are no quicker to read here. */
const MAX_GRAPH_BYTES = 64 * 2 ** 20;
/** Of all kept graphs together; those that were not used for the longest go first. */
const MAX_FOLDER_BYTES = 2 * 2 ** 30;
const STALE_DRAFT_MS = 3_600_000;
const DRAFT = ".draft.onnx";
/** The level of optimisation that `graphs.ts` asks for. */
const LEVEL = "all";

let cacheFolder: string | undefined;

/** Keeps optimised graphs in this folder from now on; undefined = nowhere. */
export function useGraphCache(folder: string | undefined): void {
  cacheFolder = folder;
}

/** A graph's optimised form on disk. */
export interface KeptGraph {
  /** The file, whole as it was kept; undefined where there is none. */
  readonly path: string | undefined;
  /** Where ONNX Runtime may write it. */
  readonly draftPath: string;
  /** Keeps what was written there, in place of what was there. */
  readonly keep: () => Promise<void>;
}

/**
 * Undefined where nothing is kept: no folder, another provider than the CPU, a large graph, or one whose
 * weights lie beside it and are mapped.
 */
export async function findKeptGraph(graph: CacheableGraph): Promise<KeptGraph | undefined> {
  const folder = cacheFolder;
  if (folder === undefined || graph.providers.some((name) => name !== "cpu")) return undefined;
  const { size } = await stat(graph.path);
  if (size > MAX_GRAPH_BYTES || readOnnxOutline(graph.path).externalTensors.length > 0)
    return undefined;
  const key = keyOf(graph.content ?? (await readFile(graph.path)));
  const draftPath = join(folder, `${key}.${randomUUID()}${DRAFT}`);
  return {
    path: await findWhole(folder, key),
    draftPath,
    async keep() {
      const digest = digestOf(await readFile(draftPath));
      await chmod(draftPath, 0o600);
      await rename(draftPath, join(folder, `${key}.${digest}.onnx`));
      await trimFolder(folder);
    },
  };
}

/** The optimised graph depends on the graph, on who optimised it and on the instructions of this CPU. */
function keyOf(graph: Uint8Array): string {
  const [first] = cpus();
  const hash = createHash("sha256").update(graph);
  hash.update(JSON.stringify([ort().version, process.arch, first?.model, LEVEL]));
  return hash.digest("hex");
}

/** The file of this key whose name says its own hash; others of the key are removed. */
async function findWhole(folder: string, key: string): Promise<string | undefined> {
  const names = (await readdir(folder)).filter(
    (name) => name.startsWith(`${key}.`) && !name.endsWith(DRAFT),
  );
  for (const name of names) {
    const path = join(folder, name);
    const digest = await readFile(path).then(digestOf, () => "");
    if (name === `${key}.${digest}.onnx`) {
      const now = new Date();
      await utimes(path, now, now).catch(() => {});
      return path;
    }
    await rm(path, { force: true });
  }
  return undefined;
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Removes those that were not read for the longest, and drafts that nobody finished. */
async function trimFolder(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => /^[0-9a-f]{64}\./.test(name));
  const found = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const { size = 0, mtimeMs = 0 } = (await stat(path).catch(() => undefined)) ?? {};
      return { path, size, mtimeMs, isDraft: name.endsWith(DRAFT) };
    }),
  );
  let total = 0;
  for (const { path, size, mtimeMs, isDraft } of found.toSorted((a, b) => b.mtimeMs - a.mtimeMs)) {
    total += size;
    const isStale = isDraft && Date.now() - mtimeMs > STALE_DRAFT_MS;
    if (isStale || total > MAX_FOLDER_BYTES) await rm(path, { force: true });
  }
}
