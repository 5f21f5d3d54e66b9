import { readFile } from "node:fs/promises";
import type { InferenceHost } from "../inference/host.js";
import type { ModelPackage } from "../inference/model-package.js";
import { openEachGraph } from "../inference/package-check.js";
import { type BenchResult, type BenchRow, compare, machine, median, timed } from "./measure.js";

export interface ColdParts {
  readonly packages: readonly ModelPackage[];
  readonly threads: number;
  /** A new inference process that serves these packages. */
  readonly openInference: (modelPaths: readonly string[]) => InferenceHost;
}

const MEBIBYTE = 2 ** 20;

interface ColdStart {
  readonly seconds: number;
  /** Mebibytes that are resident when the models are loaded, and that were at most. */
  readonly resident: number;
  readonly peak: number;
}

/** Time and memory of a worker's inference process from its start until its models serve. */
export async function benchCold(parts: ColdParts, rounds: number): Promise<BenchResult> {
  const { packages, threads } = parts;
  const each = await coldRows(parts, packages, rounds);
  const rows = packages.length > 1 ? [...each, ...(await aloneRows(parts, rounds))] : each;
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

async function startCold(
  { openInference }: ColdParts,
  models: readonly ModelPackage[],
): Promise<ColdStart> {
  const startedAt = performance.now();
  const inference = openInference(models.map(({ path }) => path));
  try {
    await inference.ready();
    const seconds = (performance.now() - startedAt) / 1_000;
    const { resident, peak } = await memoryOf(inference.processId ?? 0);
    return { seconds, resident, peak };
  } finally {
    await inference.close();
  }
}

/** proc(5): VmRSS and VmHWM of /proc/pid/status, in kB. */
async function memoryOf(processId: number) {
  const status = await readFile(`/proc/${processId}/status`, "utf8");
  const mebibytes = (field: string) =>
    (Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1_024) / MEBIBYTE;
  return { resident: mebibytes("VmRSS"), peak: mebibytes("VmHWM") };
}

async function openAll(models: readonly ModelPackage[], threads: number): Promise<void> {
  for (const model of models) await openEachGraph(model, threads);
}

function sizeOf({ files }: ModelPackage): number {
  return Object.values(files).reduce((sum, { byteLength }) => sum + byteLength, 0) / MEBIBYTE;
}
