import { messageOf } from "../../core/errors.js";
import type { ProviderOptions } from "../../core/modality.js";
import { bytesField, numberField } from "../onnx/protobuf-write.js";
import { float32, floatsOf } from "../tensors/tensor.js";
import { Session } from "./session.js";

/** What `auto` times beside the CPU. TensorRT compiles each graph for minutes: it wants to be asked for. */
const CANDIDATES = ["cuda", "webgpu"] as const;

/** softmax(x · w), float32 [rows, 4] with w[4, 4] = cos(0, 1, 2 …): ONNX, made with onnx.helper. */
const CANARY = Buffer.from(
  "CAgSADq3AQoXCgF4CgF3Egdwcm9kdWN0IgZNYXRNdWwKFQoHcHJvZHVjdBIBeSIHU29mdG1heBIGY2FuYXJ5KksIBAgEEAFC" +
    "AXdKQAAAgD9AUQo/MhHVviZwfb8wVSe/KzyRPrjNdT+9/0A/9v0UvtU/ab9kzVa/cgWRO9AGWD9vTmg/2AQMPuh6Qr9aFwoB" +
    "eBISChAIARIMCgYSBHJvd3MKAggEYhcKAXkSEgoQCAESDAoGEgRyb3dzCgIIBEIECgAQEQ==",
  "base64",
);
const WIDTH = 4;
/** TensorFloat-32 keeps ten bits. */
const TOLERANCE = 2e-3;

/**
 * Runs a tiny graph on the provider alone and checks its numbers. Throws the sentence that says why the
 * provider is of no use here.
 */
export async function probeProvider(
  name: string,
  providerOptions?: ProviderOptions,
): Promise<void> {
  const refusesFallback = name !== "cpu";
  const quietly = { threads: 1, isQuiet: true, refusesFallback };
  const options = { providers: [name], providerOptions, ...quietly };
  const session = await Session.open(CANARY, options);
  try {
    const x = Float32Array.from({ length: 2 * WIDTH }, (_, index) => Math.sin(index));
    const found = await runCanary(session, x);
    const off = Math.max(...expected(x).map((value, at) => Math.abs(value - (found[at] ?? NaN))));
    if (!(off <= TOLERANCE)) throw new Error(`its numbers are off by ${off}`);
  } finally {
    await session.close();
  }
}

async function runCanary(session: Session, x: Float32Array): Promise<Float32Array> {
  const { y } = await session.run({ x: float32(x, [2, WIDTH]) }, { fetch: ["y"] });
  if (y === undefined) throw new Error("it returned nothing");
  try {
    return floatsOf({ y: y.read() }, "y");
  } finally {
    y.close();
  }
}

function expected(x: Float32Array): number[] {
  const rows = Array.from({ length: x.length / WIDTH }, (_, row) =>
    x.subarray(row * WIDTH, (row + 1) * WIDTH),
  );
  return rows.flatMap((row) => {
    const exps = Array.from({ length: WIDTH }, (_, column) =>
      Math.exp(row.reduce((sum, value, at) => sum + value * Math.cos(at * WIDTH + column), 0)),
    );
    const total = exps.reduce((sum, value) => sum + value, 0);
    return exps.map((value) => value / total);
  });
}

/** What a step takes on a provider. */
interface StepTime {
  readonly provider: string;
  readonly ms: number;
  /** Whether a small part of it took so long that the rest was left out. */
  readonly isCut: boolean;
}

export interface ChosenProviders {
  /** In order of preference, the CPU last for what the others do not take. */
  readonly providers: readonly string[];
  /** Of those that were timed; empty where there was nothing to choose. */
  readonly times: readonly StepTime[];
}

/**
 * `auto` is the fastest of those that prove themselves; those that are named must all do so. Throws a
 * sentence where one does not.
 */
export async function chooseProviders(
  wanted: readonly string[],
  options?: ProviderOptions,
): Promise<ChosenProviders> {
  if (wanted.length === 1 && wanted[0] === "auto") return await chooseFastest(options);
  for (const name of wanted) {
    const fault = await faultOf(name, options);
    if (fault !== undefined)
      throw new Error(`PROVIDERS asks for ${name}, which does not run here: ${fault}`);
  }
  return { providers: wanted.includes("cpu") ? wanted : [...wanted, "cpu"], times: [] };
}

async function chooseFastest(options?: ProviderOptions): Promise<ChosenProviders> {
  const works: string[] = [];
  for (const name of CANDIDATES) if ((await faultOf(name, options)) === undefined) works.push(name);
  if (works.length === 0) return { providers: ["cpu"], times: [] };
  const times = [await timeStep("cpu", Number.POSITIVE_INFINITY)];
  const [{ ms: cpuMs } = { ms: 0 }] = times;
  for (const name of works) times.push(await timeStep(name, cpuMs, options));
  const [fastest] = times.filter(({ isCut }) => !isCut).toSorted((a, b) => a.ms - b.ms);
  const { provider } = fastest ?? { provider: "cpu" };
  return { providers: provider === "cpu" ? ["cpu"] : [provider, "cpu"], times };
}

/** For people: `a step takes 31.0 ms on cpu, 1.2 ms on cuda`; empty where nothing was timed. */
export function describeTimes({ times }: ChosenProviders): string {
  const each = times.map(({ provider, ms, isCut }) => {
    return `${isCut ? "more than " : ""}${ms.toFixed(1)} ms on ${provider}`;
  });
  return each.length === 0 ? "" : `a step takes ${each.join(", ")}`;
}

/** Why a provider is of no use here; undefined where it proves itself. */
export async function faultOf(
  name: string,
  options?: ProviderOptions,
): Promise<string | undefined> {
  return await probeProvider(name, options).then(() => undefined, reasonOf);
}

/** A step of some layers of a small transformer: products of [128, 768] and [768, 768]. */
const [ROWS, SIDE, LAYERS] = [128, 768, 12];
/** Rows of the first runs, which compile. */
const FEW_ROWS = 2;
/** Runs that are timed at most. */
const RUNS = 6;
const LONGEST_MS = 2_000;

/**
 * The fastest of a few runs, which others on the machine disturb least. A provider that takes longer for a
 * few rows than `mostMs` is done with: software that stands in for a GPU would take half a minute.
 */
async function timeStep(
  provider: string,
  mostMs: number,
  providerOptions?: ProviderOptions,
): Promise<StepTime> {
  const options = { providers: [provider], providerOptions, threads: 2, isQuiet: true };
  const session = await Session.open(stepGraph(), options);
  const run = async (rows: number): Promise<number> => {
    const x = float32(new Float32Array(rows * SIDE).fill(1), [rows, SIDE]);
    const startedAt = performance.now();
    const { y } = await session.run({ x }, { fetch: ["y"] }, { isQuiet: true });
    y?.close();
    return performance.now() - startedAt;
  };
  try {
    await run(FEW_ROWS);
    const fewMs = await run(FEW_ROWS);
    if (fewMs > mostMs) return { provider, ms: fewMs, isCut: true };
    await run(ROWS);
    const endsAt = performance.now() + LONGEST_MS;
    let ms = await run(ROWS);
    for (let runs = 1; runs < RUNS && performance.now() < endsAt; runs += 1)
      ms = Math.min(ms, await run(ROWS));
    return { provider, ms, isCut: false };
  } finally {
    await session.close();
  }
}

const FLOAT32 = 1;
const IR_VERSION = 8;
const OPSET = 17;

/** y = tanh(… tanh(tanh(x · w) · w) … · w), as ONNX (onnx.proto). */
function stepGraph(): Buffer {
  const names = Array.from({ length: LAYERS + 1 }, (_, at) =>
    at === 0 ? "x" : at === LAYERS ? "y" : `h${at}`,
  );
  const nodes = names
    .slice(1)
    .flatMap((output, at) => [
      nodeOf("MatMul", [names[at] ?? "x", "w"], `p${at}`),
      nodeOf("Tanh", [`p${at}`], output),
    ]);
  const weights = new Float32Array(SIDE * SIDE).fill(1 / SIDE);
  const tensor = bytesField(
    5,
    numberField(1, SIDE),
    numberField(1, SIDE),
    numberField(2, FLOAT32),
    bytesField(8, "w"),
    bytesField(9, Buffer.from(weights.buffer)),
  );
  const ends = [bytesField(11, valueOf("x")), bytesField(12, valueOf("y"))];
  const graph = bytesField(7, ...nodes, bytesField(2, "step"), tensor, ...ends);
  return Buffer.concat([numberField(1, IR_VERSION), graph, bytesField(8, numberField(2, OPSET))]);
}

function nodeOf(operator: string, inputs: readonly string[], output: string): Buffer {
  const names = [...inputs.map((input) => bytesField(1, input)), bytesField(2, output)];
  return bytesField(1, ...names, bytesField(4, operator));
}

/** Name, then its type: a tensor of float32 [rows, SIDE]. */
function valueOf(name: string): Buffer {
  const dims = [bytesField(2, "rows"), numberField(1, SIDE)].map((dim) => bytesField(1, dim));
  const type = bytesField(1, numberField(1, FLOAT32), bytesField(2, ...dims));
  return Buffer.concat([bytesField(1, name), bytesField(2, type)]);
}

/** Its first sentence, without the place in the library's source; stack traces of C++ follow. */
function reasonOf(thrown: unknown): string {
  const [text = ""] = messageOf(thrown).split("\n");
  const sentence = text.replace(/(?<=^\w+: ).*\[ONNXRuntimeError\] : \d+ : \w+ : /, "");
  return sentence.replace(/\/\S+\.(cc|h):\d+ /, "").slice(0, 300);
}
