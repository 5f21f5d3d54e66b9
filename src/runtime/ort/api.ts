import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import koffi from "koffi";
import { z } from "zod";

/** A pointer into the library; 0n is null. */
export type Pointer = bigint;

type Argument = Pointer | number | string | NodeJS.ArrayBufferView | null;

interface Entry {
  (...args: readonly Argument[]): Pointer;
  async(...args: readonly [...Argument[], (error: unknown, result: Pointer) => void]): void;
}

/** Paths are wide characters on Windows. */
const PATH = process.platform === "win32" ? "str16" : "str";

/**
 * The entries of OrtApi that are used: the place in the table, then C types of the parameters, then the
 * result where it is no status. The table only ever grows at its end (onnxruntime_c_api.h of 1.30.0).
 */
const ENTRIES = {
  GetErrorCode: [1, "void*", "int"],
  GetErrorMessage: [2, "void*", "str"],
  CreateSession: [7, `void*, ${PATH}, void*, void*`],
  CreateSessionFromArray: [8, "void*, void*, size_t, void*, void*"],
  CreateSessionOptions: [10, "void*"],
  SetOptimizedModelFilePath: [11, `void*, ${PATH}`],
  EnableProfiling: [14, `void*, ${PATH}`],
  EnableMemPattern: [16, "void*"],
  DisableMemPattern: [17, "void*"],
  SetSessionLogSeverityLevel: [22, "void*, int"],
  SetSessionGraphOptimizationLevel: [23, "void*, int"],
  SetIntraOpNumThreads: [24, "void*, int"],
  SetInterOpNumThreads: [25, "void*, int"],
  SessionGetInputCount: [30, "void*, void*"],
  SessionGetOutputCount: [31, "void*, void*"],
  SessionGetInputTypeInfo: [33, "void*, size_t, void*"],
  SessionGetOutputTypeInfo: [34, "void*, size_t, void*"],
  SessionGetInputName: [36, "void*, size_t, void*, void*"],
  SessionGetOutputName: [37, "void*, size_t, void*, void*"],
  CreateRunOptions: [39, "void*"],
  RunOptionsSetRunLogSeverityLevel: [41, "void*, int"],
  RunOptionsSetTerminate: [46, "void*"],
  CreateTensorAsOrtValue: [48, "void*, void*, size_t, int, void*"],
  CreateTensorWithDataAsOrtValue: [49, "void*, void*, size_t, void*, size_t, int, void*"],
  GetTensorMutableData: [51, "void*, void*"],
  CastTypeInfoToTensorInfo: [55, "void*, void*"],
  GetTensorElementType: [60, "void*, void*"],
  GetDimensionsCount: [61, "void*, void*"],
  GetDimensions: [62, "void*, void*, size_t"],
  GetSymbolicDimensions: [63, "void*, void*, size_t"],
  GetTensorTypeAndShape: [65, "void*, void*"],
  CreateMemoryInfo: [68, "str, int, int, int, void*"],
  CreateCpuMemoryInfo: [69, "int, int, void*"],
  MemoryInfoGetName: [71, "void*, void*"],
  AllocatorFree: [76, "void*, void*"],
  GetAllocatorWithDefaultOptions: [78, "void*"],
  ReleaseStatus: [93, "void*", "void"],
  ReleaseMemoryInfo: [94, "void*", "void"],
  ReleaseSession: [95, "void*", "void"],
  ReleaseValue: [96, "void*", "void"],
  ReleaseRunOptions: [97, "void*", "void"],
  ReleaseTypeInfo: [98, "void*", "void"],
  ReleaseTensorTypeAndShapeInfo: [99, "void*", "void"],
  ReleaseSessionOptions: [100, "void*", "void"],
  SessionEndProfiling: [110, "void*, void*, void*"],
  CreateEnvWithGlobalThreadPools: [119, "int, str, void*, void*"],
  DisablePerSessionThreads: [120, "void*"],
  CreateThreadingOptions: [121, "void*"],
  ReleaseThreadingOptions: [122, "void*", "void"],
  GetAvailableProviders: [125, "void*, void*"],
  ReleaseAvailableProviders: [126, "void*, int"],
  AddSessionConfigEntry: [130, "void*, str, str"],
  CreateAllocator: [131, "void*, void*, void*"],
  ReleaseAllocator: [132, "void*", "void"],
  RunWithBinding: [133, "void*, void*, void*"],
  CreateIoBinding: [134, "void*, void*"],
  ReleaseIoBinding: [135, "void*", "void"],
  BindInput: [136, "void*, str, void*"],
  BindOutput: [137, "void*, str, void*"],
  BindOutputToDevice: [138, "void*, str, void*"],
  GetBoundOutputValues: [140, "void*, void*, void*, void*"],
  SetGlobalIntraOpNumThreads: [147, "void*, int"],
  SetGlobalInterOpNumThreads: [148, "void*, int"],
  SetGlobalSpinControl: [149, "void*, int"],
  ReleaseArenaCfg: [157, "void*", "void"],
  CreateArenaCfgV2: [164, "void*, void*, size_t, void*"],
  AddRunConfigEntry: [165, "void*, str, str"],
  SessionOptionsAppendExecutionProvider_TensorRT_V2: [170, "void*, void*"],
  CreateTensorRTProviderOptions: [171, "void*"],
  UpdateTensorRTProviderOptions: [172, "void*, void*, void*, size_t"],
  ReleaseTensorRTProviderOptions: [174, "void*", "void"],
  GetTensorMemoryInfo: [194, "void*, void*"],
  SessionOptionsAppendExecutionProvider_CUDA_V2: [204, "void*, void*"],
  CreateCUDAProviderOptions: [205, "void*"],
  UpdateCUDAProviderOptions: [206, "void*, void*, void*, size_t"],
  ReleaseCUDAProviderOptions: [208, "void*", "void"],
  SessionOptionsAppendExecutionProvider: [216, "void*, str, void*, void*, size_t"],
  CreateAndRegisterAllocatorV2: [259, "void*, str, void*, void*, void*, void*, size_t"],
  CopyTensors: [386, "void*, void*, void*, void*, size_t"],
} as const satisfies Record<string, readonly [number, string, string?]>;

type Name = keyof typeof ENTRIES;

/** The version of the header whose table is used: later libraries still carry it. */
const API_VERSION = 24;
const ERROR = 3;

/** ONNX Runtime's own error: its words, and its number (onnxruntime_c_api.h's OrtErrorCode). */
class OrtError extends Error {
  override readonly name = "OrtError";
  readonly code: number;

  constructor(message: string, code: number) {
    super(message);
    this.code = code;
  }
}

let threadCount = availableParallelism();

/** Threads that all sessions share, the caller's among them; of use before the first session opens. */
export function setThreads(threads: number): void {
  threadCount = threads;
}

/** The library and its one environment. */
interface Library {
  /** Held: the library is unloaded with its last handle. */
  readonly native: unknown;
  readonly api: Readonly<Record<Name, Entry>>;
  readonly version: string;
  readonly env: Pointer;
  /** The memory of this machine's processors, and who allocates it. */
  readonly hostMemory: Pointer;
  readonly hostAllocator: Pointer;
}

let library: Library | undefined;

/** Loaded on first use. Throws a sentence where the package has no library for this machine. */
export function ort(): Library {
  library ??= load();
  return library;
}

function load(): Library {
  // ONNX Runtime optimises and runs on the stack that koffi lends it; threads have 8 MiB.
  koffi.config({ sync_stack_size: STACK_BYTES, async_stack_size: STACK_BYTES });
  const { path, version } = locate();
  const native = koffi.load(path);
  const base: unknown = native.func("void* OrtGetApiBase()")();
  const { GetApi, GetVersionString } = as<Record<string, Pointer>>(koffi.decode(base, BASE));
  const found = String(koffi.call(GetVersionString, koffi.proto("str GetVersionString()")));
  if (found !== version)
    throw new Error(`${path} is ONNX Runtime ${found}, not the ${version} that is asked for`);
  const table = as<Pointer>(koffi.call(GetApi, koffi.proto("void* GetApi(uint32_t)"), API_VERSION));
  const api = readTable(table);
  const make = (run: (slot: BigUint64Array) => Pointer) => createWith(api, run);
  const threading = make((slot) => api.CreateThreadingOptions(slot));
  checkWith(api, api.SetGlobalIntraOpNumThreads(threading, threadCount));
  checkWith(api, api.SetGlobalInterOpNumThreads(threading, 1));
  // Threads that spin for their next piece take the cores from ffmpeg, and from whoever has that piece.
  checkWith(api, api.SetGlobalSpinControl(threading, 0));
  const env = make((slot) =>
    api.CreateEnvWithGlobalThreadPools(ERROR, "framemill", threading, slot),
  );
  api.ReleaseThreadingOptions(threading);
  const hostMemory = make((slot) =>
    api.CreateCpuMemoryInfo(DEVICE_ALLOCATOR, DEFAULT_MEMORY, slot),
  );
  const hostAllocator = make((slot) => api.GetAllocatorWithDefaultOptions(slot));
  return { native, api, version, env, hostMemory, hostAllocator };
}

const STACK_BYTES = 8 * 2 ** 20;
const DEVICE_ALLOCATOR = 0;
const DEFAULT_MEMORY = 0;
const BASE = koffi.struct({ GetApi: "void*", GetVersionString: "void*" });

/** The library for this machine: of onnxruntime-node, or of what scripts/carry-runtime.mjs took from it. */
function locate(): { readonly path: string; readonly version: string } {
  const manifest = createRequire(import.meta.url).resolve("onnxruntime-node/package.json");
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(manifest, "utf8")));
  const { platform, arch } = process;
  const names: Partial<Record<NodeJS.Platform, string>> = {
    linux: "libonnxruntime.so.1",
    darwin: `libonnxruntime.${version}.dylib`,
    win32: "onnxruntime.dll",
  };
  const name = names[platform];
  const path = join(dirname(manifest), "bin", "napi-v6", platform, arch, name ?? "");
  if (name === undefined || !existsSync(path))
    throw new Error(
      `ONNX Runtime ${version} does not come for ${platform} ${arch} in this installation`,
    );
  return { path, version };
}

/** What koffi makes of a C type, which its own types call `any`. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
function as<T>(made: unknown): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return made as T;
}

function readTable(table: Pointer): Library["api"] {
  const pointers = as<Pointer[]>(koffi.decode(table, koffi.array("void*", 1 + lastPlace())));
  const entries = Object.entries(ENTRIES).map(([name, [place, parameters, result = "void*"]]) => [
    name,
    as<Entry>(koffi.decode(pointers[place], koffi.proto(`${result} Ort${name}(${parameters})`))),
  ]);
  return as<Library["api"]>(Object.fromEntries(entries));
}

function lastPlace(): number {
  return Math.max(...Object.values(ENTRIES).map(([place]) => place));
}

/** Throws what a status says, and frees it; a null status is success. */
export function check(status: Pointer): void {
  if (status) checkWith(ort().api, status);
}

function checkWith(api: Library["api"], status: Pointer): void {
  if (!status) return;
  const error = new OrtError(String(api.GetErrorMessage(status)), Number(api.GetErrorCode(status)));
  api.ReleaseStatus(status);
  throw error;
}

const slot = new BigUint64Array(1);

/** The pointer, or the 64-bit count, that a call writes. */
export function create(call: (slot: BigUint64Array) => Pointer): Pointer {
  return createWith(ort().api, call);
}

function createWith(api: Library["api"], call: (slot: BigUint64Array) => Pointer): Pointer {
  slot[0] = 0n;
  checkWith(api, call(slot));
  return slot[0];
}

/** Null-terminated copies of texts, and their addresses; they live as long as the caller holds them. */
export function cStrings(texts: readonly string[]) {
  const buffers = texts.map((text) => Buffer.from(`${text}\0`));
  return { buffers, addresses: BigUint64Array.from(buffers, (buffer) => koffi.address(buffer)) };
}

let calls = 0;
let onIdle: () => void = () => {};

/** Resolves when no call is under way: a process that ends amid one aborts. */
export async function callsEnded(): Promise<void> {
  while (calls > 0) await new Promise<void>((resolve) => (onIdle = resolve));
}

/** Calls in a thread of libuv's pool. */
export function callAsync(name: Name, ...args: readonly Argument[]): Promise<void> {
  const { api } = ort();
  calls += 1;
  return new Promise((resolve, reject) => {
    api[name].async(...args, (error, status) => {
      calls -= 1;
      if (calls === 0) onIdle();
      if (error)
        return reject(
          error instanceof Error ? error : new Error("the call failed", { cause: error }),
        );
      try {
        check(status);
        resolve();
      } catch (thrown) {
        reject(thrown);
      }
    });
  });
}
