import { randomFillSync } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";
import { cp, mkdir, mkdtemp, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type RunnerParts, runnerParts } from "../../../src/bin/package-runner.js";
import type { Config } from "../../../src/config.js";
import { startServiceProcesses } from "../service/service-processes.js";
import { withBenchFolder } from "../service/stack.js";
import { bytesField, bytesHeader, numberField } from "../../../src/runtime/onnx/protobuf-write.js";
import { hashFile } from "../../../src/runtime/packages/checked-files.js";
import { externalisePackage } from "../../../src/runtime/packages/externalise.js";
import {
  listModelPackages,
  loadModelPackage,
  type ModelPackage,
} from "../../../src/runtime/packages/model-package.js";
import { openEachGraph } from "../../../src/runtime/packages/package-check.js";
import type { InferenceHost } from "../../../src/runtime/process/protocol.js";
import { readProcessMemory } from "../../../src/runtime/process/process.js";
import {
  type BenchResult,
  type BenchRow,
  compare,
  machine,
  median,
  type Pair,
  timed,
} from "../report/measure.js";

interface ColdParts {
  readonly config: Config;
  readonly packages: readonly ModelPackage[];
  readonly threads: number;
  /** A new inference process that serves these packages. */
  readonly openInference: RunnerParts["openInference"];
  /** For a gigabyte of files. */
  readonly folder: string;
}

const MEBIBYTE = 2 ** 20;

interface ColdStart {
  readonly seconds: number;
  /** Mebibytes that are resident when the models are loaded, and that were at most. */
  readonly resident: number;
  readonly peak: number;
  /** From the start until a first job has its answer, in seconds; the start alone where none was sent. */
  readonly answeredSeconds: number;
}

/** Time and memory of a worker's inference process from its start until its models serve. */
export async function runCold(config: Config, rounds: number): Promise<BenchResult> {
  const { openInference } = runnerParts(config);
  const packages = await listModelPackages(config.modelsDir);
  const { threads } = config;
  return await withBenchFolder(config, async ({ dataDir: folder }) => {
    return await measureCold({ config, packages, threads, openInference, folder }, rounds);
  });
}

async function measureCold(parts: ColdParts, rounds: number): Promise<BenchResult> {
  const { packages, threads } = parts;
  const each = await coldRows(parts, packages, rounds);
  const alone = packages.length > 1 ? await aloneRows(parts, rounds) : [];
  const rows = [
    ...each,
    ...alone,
    await keptRow(parts, rounds),
    ...(await externalRows(parts, rounds)),
  ];
  const conditions = { ...machine(), models: packages.length, threads, rounds };
  return { suite: "cold", conditions, rows };
}

/** Beside a bare opening of the same graphs one after the other, and beside the size of the files. */
async function coldRows(
  parts: ColdParts,
  models: readonly ModelPackage[],
  rounds: number,
): Promise<BenchRow[]> {
  const starts: (ColdStart & { readonly bare: number })[] = [];
  await startCold(parts, models);
  for (let round = 0; round < rounds; round += 1) {
    const start = await startCold(parts, models);
    const { seconds: bare } = await timed(() => openAll(models, parts.threads));
    starts.push({ ...start, bare });
  }
  const size = models.reduce((sum, model) => sum + sizeOf(model), 0);
  const who = models.length === 1 ? (models[0]?.id ?? "") : `all ${models.length} models`;
  const times = starts.map(({ seconds, bare }) => ({ ours: seconds, against: bare }));
  const memory = starts.map(({ resident }) => ({ ours: resident, against: size }));
  const peaks = starts.map(({ peak }) => ({ ours: peak, against: size }));
  return [
    compare(
      { what: `${who}: start to ready / graphs opened bare`, unit: "s", target: null },
      times,
    ),
    compare({ what: `${who}: resident / files`, unit: "MiB", target: null }, memory),
    compare({ what: `${who}: peak / files`, unit: "MiB", target: null }, peaks),
  ];
}

/** One start of each package by itself: what it adds to a worker. */
async function aloneRows(parts: ColdParts, rounds: number): Promise<BenchRow[]> {
  const empty = await startsOf(parts, [], rounds);
  const rows: BenchRow[] = [];
  for (const model of parts.packages) {
    const starts = await startsOf(parts, [model], rounds);
    const seconds = starts.map((start, at) => ({
      ours: start.seconds,
      against: empty[at]?.seconds ?? Number.NaN,
    }));
    const added =
      median(starts.map(({ resident }) => resident)) -
      median(empty.map(({ resident }) => resident));
    rows.push(
      compare(
        { what: `${model.id}: start to ready / an empty process`, unit: "s", target: null },
        seconds,
      ),
      compare({ what: `${model.id}: added resident / files`, unit: "MiB", target: null }, [
        { ours: added, against: sizeOf(model) },
      ]),
    );
  }
  return rows;
}

async function startsOf(
  parts: ColdParts,
  models: readonly ModelPackage[],
  rounds: number,
): Promise<ColdStart[]> {
  const starts: ColdStart[] = [];
  for (let round = 0; round < rounds; round += 1) starts.push(await startCold(parts, models));
  return starts;
}

/** With a CACHE_DIR that an earlier start filled, beside none. */
async function keptRow(parts: ColdParts, rounds: number): Promise<BenchRow> {
  const { packages } = parts;
  const cacheDir = await mkdtemp(join(parts.folder, "kept-"));
  await startCold(parts, packages, cacheDir);
  const pairs: Pair[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const { seconds: ours } = await startCold(parts, packages, cacheDir);
    const { seconds: against } = await startCold(parts, packages);
    pairs.push({ ours, against });
  }
  const what = `all ${packages.length} models: start to ready with CACHE_DIR / without`;
  return compare({ what, unit: "s", target: null }, pairs);
}

/** A worker's start to ready with 400 MB of random weights beside the graph, beside the same inline. */
async function externalRows(parts: ColdParts, rounds: number): Promise<BenchRow[]> {
  const large = await writeLargePackages(parts.packages, parts.folder);
  if (large === undefined) return [];
  const { inline, external } = large;
  // Files that were just written are hashed at each start: what is noted must have settled.
  const cacheDir = await mkdtemp(join(parts.folder, "checked-"));
  await sleep(SETTLED_MS);
  for (const model of [inline, external]) await startCold(parts, [model], cacheDir);
  const rows: Record<"hashed" | "checked" | "beyond" | "answered", Pair[]> = {
    hashed: [],
    checked: [],
    beyond: [],
    answered: [],
  };
  const start = (model: ModelPackage, folder?: string) =>
    startCold(parts, [model], folder, embedOnce);
  for (let round = 0; round < rounds; round += 1) {
    const hashed = [await start(external), await start(inline)] as const;
    rows.hashed.push(pairOf(hashed, ({ seconds }) => seconds));
    const { seconds: empty } = await startCold(parts, []);
    const checked = [await start(external, cacheDir), await start(inline, cacheDir)] as const;
    rows.checked.push(pairOf(checked, ({ seconds }) => seconds));
    rows.beyond.push(pairOf(checked, ({ seconds }) => seconds - empty));
    rows.answered.push(pairOf(checked, ({ answeredSeconds }) => answeredSeconds));
  }
  const adopted = await adoptedRow(parts, external, cacheDir, rounds);
  const what = "400 MB: start to ready, weights beside the graph / inline";
  const checked = `${what}, files checked before`;
  return [
    compare({ what: checked, unit: "s", target: 0.3 }, rows.checked),
    compare({ what: `${checked}, less an empty process's`, unit: "s", target: null }, rows.beyond),
    compare({ what: `${checked}, with its first answer`, unit: "s", target: null }, rows.answered),
    compare({ what: `${what}, files hashed`, unit: "s", target: null }, rows.hashed),
    adopted,
    ...(await killedRow(parts.config, external, rounds)),
  ];
}

/**
 * With the process that an earlier worker left, beside one that is started; files checked before. What a
 * worker needs for itself, before it asks for either, is no part of it.
 */
async function adoptedRow(
  { openInference, folder }: ColdParts,
  model: ModelPackage,
  cacheDir: string,
  rounds: number,
): Promise<BenchRow> {
  const adoption = { folder: join(folder, "inference"), waitMs: 600_000 };
  await mkdir(adoption.folder, { mode: 0o700 });
  const answer = async (kept: boolean) => {
    const inference = openInference([model.path], cacheDir, kept ? adoption : undefined);
    const { seconds } = await timed(() => embedOnce(inference, model));
    const { processId = 0, adoptions } = inference;
    await inference.close();
    return { seconds, processId, adoptions };
  };
  const { processId } = await answer(true);
  const pairs: Pair[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      const { seconds: ours, adoptions } = await answer(true);
      if (adoptions !== 1) throw new Error("the inference process was not adopted");
      pairs.push({ ours, against: (await answer(false)).seconds });
    }
  } finally {
    process.kill(-processId, "SIGKILL");
  }
  const what = "400 MB: first answer of an inference process, adopted / started";
  return compare({ what, unit: "s", target: 0.2 }, pairs);
}

/**
 * A worker that is killed at its work, beside one that is started with nothing there: from the signal, and
 * from the start of its process, to the first answer through the HTTP API. Over a real broker and database;
 * no row where the configuration names none.
 */
async function killedRow(
  given: Config,
  { id: model, path }: ModelPackage,
  rounds: number,
): Promise<BenchRow[]> {
  if (given.amqpUrl === undefined || given.databaseUrl === undefined) return [];
  return await withBenchFolder(given, async (config) => {
    const { dataDir } = config;
    const [modelsDir, scratchDir] = [join(dataDir, "models"), join(dataDir, "scratch")];
    await cp(path, join(modelsDir, model), { recursive: true });
    const kept = { cacheDir: join(dataDir, "cache"), adoptMs: 600_000 };
    const service = await startServiceProcesses({ ...config, ...kept, modelsDir, scratchDir });
    const { baseUrl, apiKey } = service.endpoint;
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const answer = async () => {
      const body = JSON.stringify({ model, input: "a red boat passes the first milestone" });
      while (!(await fetch(`${baseUrl}/embeddings`, { method: "POST", headers, body })).ok)
        await sleep(ASK_AGAIN_MS);
    };
    const pairs: Pair[] = [];
    try {
      await answer();
      for (let round = 0; round < rounds; round += 1) {
        // What a start reads has settled, and the next worker waits.
        await sleep(SETTLED_MS);
        await service.restartWorker();
        const { seconds: against } = await timed(answer);
        await sleep(SETTLED_MS);
        process.kill(service.processIds()["worker"] ?? 0, "SIGKILL");
        pairs.push({ ours: (await timed(answer)).seconds, against });
      }
    } finally {
      const { inference = 0 } = service.processIds();
      await service.close();
      process.kill(-inference, "SIGKILL");
    }
    const what = "400 MB: first answer over HTTP after kill -9 of the worker / from a cold start";
    return [compare({ what, unit: "s", target: 0.2 }, pairs)];
  });
}

function pairOf(
  [ours, against]: readonly [ColdStart, ColdStart],
  read: (start: ColdStart) => number,
): Pair {
  return { ours: read(ours), against: read(against) };
}

/** What is ready must answer, too. */
async function embedOnce(inference: InferenceHost, { id, modality }: ModelPackage): Promise<void> {
  const inputs = ["a red boat passes the first milestone"];
  const request = { model: id, inputs, dimensions: null, encodingFormat: "float" };
  const expiresAtMs = Number.MAX_SAFE_INTEGER;
  const job = { id: "cold", modality, model: id, request, expiresAtMs, reportTo: "" };
  const task = { job, scratchPath: "", readInput: () => Promise.reject(new Error("no input")) };
  for await (const _ of inference.run(task, new AbortController().signal));
}

const SETTLED_MS = 2_500;
const ASK_AGAIN_MS = 20;

async function startCold(
  { openInference }: ColdParts,
  models: readonly ModelPackage[],
  cacheDir?: string,
  useFirst: (inference: InferenceHost, model: ModelPackage) => Promise<void> = async () => {},
): Promise<ColdStart> {
  const startedAt = performance.now();
  const sinceStart = () => (performance.now() - startedAt) / 1_000;
  const inference = openInference(
    models.map(({ path }) => path),
    cacheDir,
  );
  try {
    await inference.ready();
    const seconds = sinceStart();
    const { residentBytes, peakBytes } = await readProcessMemory(inference.processId ?? 0);
    const [resident, peak] = [residentBytes / MEBIBYTE, peakBytes / MEBIBYTE];
    for (const model of models) await useFirst(inference, model);
    return { seconds, resident, peak, answeredSeconds: sinceStart() };
  } finally {
    await inference.close();
  }
}

async function openAll(models: readonly ModelPackage[], threads: number): Promise<void> {
  for (const model of models) await openEachGraph(model, threads);
}

function sizeOf({ files }: ModelPackage): number {
  return Object.values(files).reduce((sum, { byteLength }) => sum + byteLength, 0) / MEBIBYTE;
}

interface LargePackages {
  readonly inline: ModelPackage;
  readonly external: ModelPackage;
}

/**
 * Two packages with the tokenizer of an embeddings model and the same 400 MB of random weights, inline and
 * beside the graph; undefined where there is no such model.
 */
async function writeLargePackages(
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
