import koffi from "koffi";
import { messageOf } from "../../core/errors.js";
import type { ProviderOptions } from "../../core/modality.js";
import { check, create, cStrings, ort, type Pointer } from "./api.js";

const SUFFIX = "ExecutionProvider";

/** Execution providers that this build of ONNX Runtime carries, e.g. `cpu`, `webgpu`. */
export function listExecutionProviders(): string[] {
  const { api } = ort();
  const count = new Int32Array(1);
  const list = create((slot) => api.GetAvailableProviders(slot, count));
  const [length = 0] = count;
  const pointers = new BigUint64Array(koffi.view(list, 8 * length));
  const names = Array.from(pointers, (pointer) => koffi.decode.string(pointer));
  check(api.ReleaseAvailableProviders(list, length));
  return names.map((name) => name.replace(SUFFIX, "").toLowerCase());
}

/** What providers are called where they are appended by name. */
const NAMES: Readonly<Record<string, string>> = {
  webgpu: "WebGPU",
  coreml: "CoreML",
  dml: "DML",
  openvino: "OpenVINO",
  qnn: "QNN",
  xnnpack: "XNNPACK",
};

/**
 * Options that nobody has to ask for. An exhaustive search costs a first run seconds and gigabytes, for
 * every shape anew (onnxruntime#19838); an arena that doubles takes memory that others want.
 */
const DEFAULTS: ProviderOptions = {
  cuda: { cudnn_conv_algo_search: "HEURISTIC", arena_extend_strategy: "kSameAsRequested" },
};

/** Of 1.30.0; this provider passes over what it does not know. */
const WEBGPU_OPTIONS = new Set([
  "dawnBackendType",
  "dawnProcTable",
  "defaultBufferCacheMode",
  "deviceId",
  "enableGraphCapture",
  "enableInt64",
  "enablePIXCapture",
  "enableRobustness",
  "forceCpuNodeNames",
  "kvCacheQuantizationBits",
  "maxNumPendingDispatches",
  "maxStorageBufferBindingSize",
  "multiRotaryCacheConcatOffset",
  "powerPreference",
  "preferredLayout",
  "preserveDevice",
  "queryResolveBufferCacheMode",
  "sessionBufferPoolGenerations",
  "storageBufferCacheMode",
  "uniformBufferCacheMode",
  "validationMode",
  "webgpuDevice",
  "webgpuInstance",
]);

/** Throws a sentence that names the first provider there that is none. */
export function checkProviderNames(options: ProviderOptions): void {
  const known = ["cpu", "cuda", "tensorrt", ...Object.keys(NAMES)];
  const other = Object.keys(options).find((name) => !known.includes(name));
  if (other !== undefined)
    throw new Error(`${other} is no execution provider: there are ${known.join(", ")}`);
}

/** Of two, option by option; the later one's stand. */
export function mergeOptions(...all: readonly (ProviderOptions | undefined)[]): ProviderOptions {
  const merged: Record<string, Readonly<Record<string, string>>> = {};
  for (const [name, options] of all.flatMap((given) => Object.entries(given ?? {})))
    merged[name] = { ...merged[name], ...options };
  return merged;
}

/**
 * Adds a provider to a session's settings, after those that were added before. Throws a sentence where the
 * build does not carry it, its library does not load, or it does not take an option.
 */
export function appendProvider(settings: Pointer, name: string, given: ProviderOptions = {}): void {
  // The CPU comes by itself, at the end.
  if (name === "cpu") return;
  const options = mergeOptions(DEFAULTS, given)[name] ?? {};
  if (name === "cuda" || name === "tensorrt") return appendNvidia(settings, name, options);
  const called = NAMES[name];
  if (called === undefined) throw new Error(`unknown execution provider ${name}`);
  const unknown = Object.keys(options).find((key) => !WEBGPU_OPTIONS.has(key));
  if (name === "webgpu" && unknown !== undefined)
    throw new Error(
      `${name} has no option ${unknown}: there are ${[...WEBGPU_OPTIONS].join(", ")}`,
    );
  const { api } = ort();
  withPairs(options, (...pairs) => {
    const append = api.SessionOptionsAppendExecutionProvider;
    refuse(name, options, () => check(append(settings, called, ...pairs)));
  });
}

function appendNvidia(
  settings: Pointer,
  name: "cuda" | "tensorrt",
  options: Readonly<Record<string, string>>,
): void {
  const { api } = ort();
  const isCuda = name === "cuda";
  const own = create((slot) =>
    isCuda ? api.CreateCUDAProviderOptions(slot) : api.CreateTensorRTProviderOptions(slot),
  );
  const update = isCuda ? api.UpdateCUDAProviderOptions : api.UpdateTensorRTProviderOptions;
  const append = isCuda
    ? api.SessionOptionsAppendExecutionProvider_CUDA_V2
    : api.SessionOptionsAppendExecutionProvider_TensorRT_V2;
  try {
    // Loads the provider's library: what fails here is no option's fault.
    withPairs({}, (...none) => refuse(name, {}, () => check(update(own, ...none))));
    for (const [key, value] of Object.entries(options))
      withPairs({ [key]: value }, (...pair) =>
        refuse(name, { [key]: value }, () => check(update(own, ...pair))),
      );
    withPairs(options, (...pairs) => check(update(own, ...pairs)));
    refuse(name, {}, () => check(append(settings, own)));
  } finally {
    if (isCuda) api.ReleaseCUDAProviderOptions(own);
    else api.ReleaseTensorRTProviderOptions(own);
  }
}

/** Names and values as the library takes them, for the length of a call. */
function withPairs(
  options: Readonly<Record<string, string>>,
  call: (keys: BigUint64Array, values: BigUint64Array, count: number) => void,
): void {
  const keys = cStrings(Object.keys(options));
  const values = cStrings(Object.values(options));
  call(keys.addresses, values.addresses, keys.addresses.length);
}

function refuse(name: string, options: Readonly<Record<string, string>>, call: () => void): void {
  try {
    call();
  } catch (cause) {
    const given = Object.entries(options).map(([key, value]) => `${key}=${value}`);
    const asked = given.length === 0 ? name : `${name} with ${given.join(", ")}`;
    throw new Error(`${asked}: ${messageOf(cause)}`, { cause });
  }
}

/** Devices whose arena all sessions share, or have refused to. */
const arenas = new Map<string, boolean>();

/**
 * One arena of CUDA memory for all sessions on a device: with one each, sessions that take turns hold what
 * any of them has ever needed (onnxruntime#29351). Whether there is one. Only once the provider was
 * appended: without its library the call ends the process.
 */
export function sharesArena([first = "cpu"]: readonly string[], given?: ProviderOptions): boolean {
  if (first !== "cuda") return false;
  const options = mergeOptions(DEFAULTS, given)["cuda"] ?? {};
  // A replayed run writes where its recording had its memory, whoever has been given that since.
  if (options["enable_cuda_graph"] === "1") return false;
  const device = options["device_id"] ?? "0";
  const known = arenas.get(device);
  if (known !== undefined) return known;
  try {
    createArena(Number(device), options);
    arenas.set(device, true);
  } catch (thrown) {
    arenas.set(device, false);
    process.emitWarning(`sessions on device ${device} have an arena each: ${messageOf(thrown)}`);
  }
  return arenas.get(device) ?? false;
}

function createArena(device: number, options: Readonly<Record<string, string>>): void {
  const { api, env } = ort();
  const isDoubling = options["arena_extend_strategy"] === "kNextPowerOfTwo";
  const keys = cStrings(["max_mem", "arena_extend_strategy"]);
  const values = BigUint64Array.of(
    BigInt(options["gpu_mem_limit"] ?? 0),
    isDoubling ? NEXT_POWER_OF_TWO : SAME_AS_REQUESTED,
  );
  const settings = create((slot) => api.CreateArenaCfgV2(keys.addresses, values, 2, slot));
  try {
    const memory = create((slot) =>
      api.CreateMemoryInfo("Cuda", ARENA_ALLOCATOR, device, DEFAULT_MEMORY, slot),
    );
    withPairs(options, (...pairs) =>
      check(
        api.CreateAndRegisterAllocatorV2(env, "CUDAExecutionProvider", memory, settings, ...pairs),
      ),
    );
  } finally {
    api.ReleaseArenaCfg(settings);
  }
}

/** onnxruntime_c_api.h: ArenaExtendStrategy, OrtArenaAllocator. */
const [NEXT_POWER_OF_TWO, SAME_AS_REQUESTED] = [0n, 1n];
const ARENA_ALLOCATOR = 1;
const DEVICE_ALLOCATOR = 0;
const DEFAULT_MEMORY = 0;

/** Names of devices' memory; what other providers make lies in this process's memory. */
const MEMORY: Readonly<Record<string, string>> = {
  cuda: "Cuda",
  tensorrt: "Cuda",
  webgpu: "WebGPU_Buffer",
};

const memories = new Map<string, Pointer>();

/** The memory that the first provider computes in. */
export function deviceMemory(
  [first = "cpu"]: readonly string[],
  options: ProviderOptions = {},
): Pointer {
  const { api, hostMemory } = ort();
  const deviceId = Number(options[first]?.["device_id"] ?? 0);
  const name = MEMORY[first];
  if (name === undefined) return hostMemory;
  const key = `${name} ${deviceId}`;
  const known = memories.get(key);
  if (known !== undefined) return known;
  const made = create((slot) =>
    api.CreateMemoryInfo(name, DEVICE_ALLOCATOR, deviceId, DEFAULT_MEMORY, slot),
  );
  memories.set(key, made);
  return made;
}
