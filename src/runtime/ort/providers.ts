import { InferenceSession, listSupportedBackends, Tensor } from "onnxruntime-node";
import { messageOf } from "../../core/errors.js";

/** Execution providers that this build of ONNX Runtime carries, e.g. `cpu`, `webgpu`. */
export function listExecutionProviders(): string[] {
  return listSupportedBackends().map(({ name }) => name);
}

/** What `auto` tries, fastest first. TensorRT compiles each graph for minutes: it wants to be asked for. */
const PREFERENCE = ["cuda", "webgpu"] as const;

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
export async function probeProvider(name: string): Promise<void> {
  const session = await InferenceSession.create(CANARY, {
    executionProviders: [name],
    logSeverityLevel: 4,
    // Without it ONNX Runtime runs on the CPU what the provider does not take, and says nothing.
    ...(name !== "cpu" && { extra: { session: { disable_cpu_ep_fallback: "1" } } }),
  });
  try {
    const x = Float32Array.from({ length: 2 * WIDTH }, (_, index) => Math.sin(index));
    const { y } = await session.run({ x: new Tensor("float32", x, [2, WIDTH]) });
    const found = y?.data instanceof Float32Array ? y.data : new Float32Array();
    const off = Math.max(...expected(x).map((value, at) => Math.abs(value - (found[at] ?? NaN))));
    if (!(off <= TOLERANCE)) throw new Error(`its numbers are off by ${off}`);
  } finally {
    await session.release();
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

/**
 * Providers in order of preference, the CPU last for what the others do not take. `auto` is the first
 * that proves itself; those that are named must all do so. Throws where one does not.
 */
export async function chooseProviders(wanted: readonly string[]): Promise<readonly string[]> {
  if (wanted.length === 1 && wanted[0] === "auto") {
    for (const name of PREFERENCE) if ((await faultOf(name)) === undefined) return [name, "cpu"];
    return ["cpu"];
  }
  for (const name of wanted) {
    const fault = await faultOf(name);
    if (fault !== undefined)
      throw new Error(`PROVIDERS asks for ${name}, which does not run here: ${fault}`);
  }
  return wanted.includes("cpu") ? wanted : [...wanted, "cpu"];
}

/** Why a provider is of no use here; undefined where it proves itself. */
export async function faultOf(name: string): Promise<string | undefined> {
  return await probeProvider(name).then(() => undefined, reasonOf);
}

/** Its first sentence: stack traces of C++ follow. */
function reasonOf(thrown: unknown): string {
  const text = messageOf(thrown);
  return (text.split("\n")[0] ?? "").slice(0, 300);
}
