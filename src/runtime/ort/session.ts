import koffi from "koffi";
import { messageOf } from "../../core/errors.js";
import type { ProviderOptions } from "../../core/modality.js";
import {
  castTensor,
  type GraphInfo,
  type Tensor,
  type TensorInfo,
  type Tensors,
  type TensorType,
} from "../tensors/tensor.js";
import { callAsync, check, create, ort, type Pointer } from "./api.js";
import { appendProvider, deviceMemory, sharesArena } from "./providers.js";
import { readShapeInfo, Value } from "./value.js";

export interface SessionOptions {
  /** Execution providers in order of preference, e.g. `["cpu"]`. */
  readonly providers: readonly string[];
  readonly providerOptions?: ProviderOptions | undefined;
  /** 1: a run stays in the thread that it begins in; more: it shares the threads of all sessions. */
  readonly threads: number;
  /**
   * Whether matrices are copied into the order that the CPU's kernels like; true where absent. Without, a
   * graph whose weights are mapped opens in a fraction of the time and runs slower.
   */
  readonly packs?: boolean | undefined;
  /**
   * Whether memory is planned for each shape of inputs and kept for it, false where absent: for small
   * runs, of which each allocation is a part that counts.
   */
  readonly plans?: boolean | undefined;
  /**
   * Whether its threads are its own, and stay awake for 50 µs for their next piece, false where absent: for
   * small runs one after the other, of which each waking is a part that counts.
   */
  readonly staysAwake?: boolean | undefined;
  /** Whether the file holds what an earlier opening has optimised. */
  readonly isOptimised?: boolean | undefined;
  /** Where the optimised graph is written. */
  readonly optimisedPath?: string | undefined;
  /** Where the files lie that a graph in memory has weights in. */
  readonly weightsFolder?: string | undefined;
  /** Refuses a graph of which the CPU would run a part for the first provider. */
  readonly refusesFallback?: boolean | undefined;
  /** Where its runs are noted, node by node, until `endProfile`; ONNX Runtime adds the time and `.json`. */
  readonly profilePath?: string | undefined;
  /** Whether failures are only thrown and not also logged. */
  readonly isQuiet?: boolean | undefined;
}

/** What a run is given: a tensor, whose memory is read where it is, or a value. */
export type Feed = Tensor | Value;
export type Feeds = Readonly<Record<string, Feed>>;

/** Where outputs go. */
export interface Targets {
  /** Names of those that are made on the device and stay there. */
  readonly keep?: readonly string[];
  /** Name → value whose memory is written. */
  readonly into?: Readonly<Record<string, Value>>;
  /** Names of those that are made in memory of this process. */
  readonly fetch?: readonly string[];
}

export interface RunSettings {
  /** Ends the run amid its work. */
  readonly signal?: AbortSignal | undefined;
  /** Whether a failure is only thrown and not also logged. */
  readonly isQuiet?: boolean | undefined;
  /**
   * Number of the recording that a device keeps of this run, whose inputs and outputs stay where they are,
   * and replays; −1: none is made. For sessions whose provider records.
   */
  readonly recording?: number | undefined;
}

/** An open graph. Any number of runs may be under way at once. */
export class Session {
  readonly info: GraphInfo;
  readonly #pointer: Pointer;
  /** The memory that kept outputs are made in. */
  readonly #device: Pointer;
  readonly #bindings = new Set<Binding>();
  /** Of the device, once something was placed there. */
  #allocator = 0n;
  #placed: readonly Value[] = [];
  #isClosed = false;

  private constructor(pointer: Pointer, device: Pointer) {
    this.#pointer = pointer;
    this.#device = device;
    this.info = describeGraph(pointer);
  }

  /** Whether its device's memory is this process's own. */
  get isOnHost(): boolean {
    return this.#device === ort().hostMemory;
  }

  /** Throws ONNX Runtime's sentence where the graph cannot be used. */
  static async open(model: string | Uint8Array, options: SessionOptions): Promise<Session> {
    const { api, env } = ort();
    const settings = createSettings(options);
    const slot = new BigUint64Array(1);
    try {
      await (typeof model === "string"
        ? callAsync("CreateSession", env, model, settings, slot)
        : callAsync("CreateSessionFromArray", env, model, model.byteLength, settings, slot));
    } finally {
      api.ReleaseSessionOptions(settings);
    }
    return new Session(slot[0] ?? 0n, deviceMemory(options.providers, options.providerOptions));
  }

  /** Ends the notes of its runs and returns their file; for a session that was opened with them. */
  endProfile(): string {
    if (this.#isClosed) throw new Error("the graph is closed");
    const { api, hostAllocator } = ort();
    const text = create((slot) => api.SessionEndProfiling(this.#pointer, hostAllocator, slot));
    const path = koffi.decode.string(text);
    check(api.AllocatorFree(hostAllocator, text));
    return path;
  }

  /**
   * Inputs where the graph computes, for many runs: copies on its device, or the tensors' own memory on the
   * host, in the types that it declares. What it does not declare is left out. The caller closes them.
   */
  place(tensors: Tensors, onHost = this.isOnHost): Values {
    if (this.#isClosed) throw new Error("the graph is closed");
    const declared = this.info.inputs.flatMap(({ name, type }) => {
      const tensor = tensors[name];
      return tensor === undefined ? [] : [[name, Value.of(castTensor(tensor, type))] as const];
    });
    if (onHost) return Object.fromEntries(declared);
    return Object.fromEntries(declared.map(([name, value]) => [name, this.#toDevice(value)]));
  }

  /** A copy on the device; the value is closed. */
  #toDevice(value: Value): Value {
    try {
      this.#allocator ||= create((slot) =>
        ort().api.CreateAllocator(this.#pointer, this.#device, slot),
      );
      const copy = Value.allocate(this.#allocator, value);
      this.#placed = [...this.#placed.filter(({ isClosed }) => !isClosed), copy];
      copy.write(value);
      return copy;
    } finally {
      value.close();
    }
  }

  /**
   * Inputs and outputs that many runs share: what changes between them is written into their memory. The
   * caller closes it. Throws where the graph needs an input that is not there, or has no such output.
   */
  bind(feeds: Feeds, targets: Targets): Binding {
    if (this.#isClosed) throw new Error("the graph is closed");
    const bound = { session: this.#pointer, device: this.#device, info: this.info };
    return new Binding({ ...bound, bindings: this.#bindings }, feeds, targets);
  }

  /** The outputs to keep and to fetch, by name; they are the caller's to close. */
  async run(feeds: Feeds, targets: Targets, settings?: RunSettings): Promise<Values> {
    const binding = this.bind(feeds, targets);
    try {
      return await binding.run(settings);
    } finally {
      void binding.close();
    }
  }

  /** Closes its bindings, and waits for the runs that are under way. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.all([...this.#bindings].map((binding) => binding.close()));
    // They are freed by the allocator.
    for (const value of this.#placed) value.close();
    if (this.#allocator) ort().api.ReleaseAllocator(this.#allocator);
    ort().api.ReleaseSession(this.#pointer);
  }
}

export type Values = Readonly<Record<string, Value>>;

interface BoundTo {
  readonly session: Pointer;
  readonly device: Pointer;
  readonly info: GraphInfo;
  /** Of the session, those that are not freed. */
  readonly bindings: Set<Binding>;
}

interface Input {
  readonly value: Value;
  /** Whether it was given as a tensor. */
  readonly isOwn: boolean;
}

/** Inputs and outputs of runs of one graph. */
export class Binding {
  readonly #session: Pointer;
  readonly #bindings: Set<Binding>;
  readonly #pointer: Pointer;
  readonly #inputs = new Map<string, Input>();
  readonly #targets: Value[] = [];
  /** Names of outputs in the order in which they were bound; those that are written into come first. */
  readonly #outputs: readonly string[];
  readonly #given: number;
  #settleFreed: () => void = () => {};
  readonly #freed = new Promise<void>((resolve) => {
    this.#settleFreed = resolve;
  });
  #isRunning = false;
  #isClosed = false;

  constructor(
    { session, device, info, bindings }: BoundTo,
    feeds: Feeds,
    { fetch = [], into = {}, keep = [] }: Targets,
  ) {
    const { api, hostMemory } = ort();
    this.#session = session;
    this.#bindings = bindings.add(this);
    this.#given = Object.keys(into).length;
    this.#outputs = [...Object.keys(into), ...fetch, ...keep];
    this.#pointer = create((slot) => api.CreateIoBinding(session, slot));
    try {
      for (const { name, type } of info.inputs) {
        const feed = feeds[name];
        if (feed === undefined) throw new Error(`the input ${name} is missing`);
        this.#bindInput(name, type, feed);
      }
      for (const [name, value] of Object.entries(into)) {
        const pointer = value.hold();
        this.#targets.push(value);
        check(api.BindOutput(this.#pointer, name, pointer));
      }
      for (const name of fetch) check(api.BindOutputToDevice(this.#pointer, name, hostMemory));
      for (const name of keep) check(api.BindOutputToDevice(this.#pointer, name, device));
    } catch (thrown) {
      this.#free();
      throw thrown;
    }
  }

  /**
   * Another feed for an input, from the next run on. Nothing is to be done for a tensor that lies where the
   * one before lay: its memory is read anew with each run.
   */
  feed(name: string, feed: Feed): void {
    if (this.#isClosed) throw new Error("the binding is closed");
    const input = this.#inputs.get(name);
    if (input === undefined) throw new Error(`the graph has no input ${name}`);
    if (input.isOwn && !(feed instanceof Value) && input.value.liesAt(feed)) return;
    if (input.value === feed) return;
    this.#bindInput(name, input.value.type, feed);
    input.value.release();
    if (input.isOwn) input.value.close();
  }

  /** One run at a time. The outputs to keep and to fetch, by name; they are the caller's to close. */
  async run(settings: RunSettings = {}): Promise<Values> {
    const { signal } = settings;
    signal?.throwIfAborted();
    if (this.#isClosed) throw new Error("the binding is closed");
    this.#isRunning = true;
    try {
      await withRunOptions(settings, (options) =>
        callAsync("RunWithBinding", this.#session, options, this.#pointer),
      );
      return this.#made();
    } finally {
      this.#isRunning = false;
      if (this.#isClosed) this.#free();
    }
  }

  /** Takes effect when the run has ended that is under way, and resolves then. */
  async close(): Promise<void> {
    if (!this.#isClosed && !this.#isRunning) this.#free();
    this.#isClosed = true;
    await this.#freed;
  }

  #bindInput(name: string, type: TensorType, feed: Feed): void {
    const isOwn = !(feed instanceof Value);
    const value = isOwn ? Value.of(castTensor(feed, type)) : feed;
    const pointer = value.hold();
    this.#inputs.set(name, { value, isOwn });
    check(ort().api.BindInput(this.#pointer, name, pointer));
  }

  #free(): void {
    ort().api.ReleaseIoBinding(this.#pointer);
    for (const { value, isOwn } of this.#inputs.values()) {
      value.release();
      if (isOwn) value.close();
    }
    for (const value of this.#targets) value.release();
    this.#bindings.delete(this);
    this.#settleFreed();
  }

  #made(): Values {
    if (this.#outputs.length === this.#given) return {};
    const { api, hostAllocator } = ort();
    const count = new BigUint64Array(1);
    const list = create((slot) =>
      api.GetBoundOutputValues(this.#pointer, hostAllocator, slot, count),
    );
    const pointers = new BigUint64Array(koffi.view(list, 8 * Number(count[0]))).slice();
    check(api.AllocatorFree(hostAllocator, list));
    const values: Record<string, Value> = {};
    for (const [at, name] of this.#outputs.entries()) {
      const pointer = pointers[at] ?? 0n;
      if (at < this.#given) api.ReleaseValue(pointer);
      else values[name] = Value.adopt(pointer);
    }
    return values;
  }
}

const FATAL = 4;
const ERROR = 3;
/** Of onnxruntime_run_options_config_keys.h. */
const RECORDING = "gpu_graph_id";

/** Options of one run, which ends where the signal aborts; then the signal's reason is thrown. */
async function withRunOptions(
  { isQuiet = false, signal, recording }: RunSettings,
  run: (options: Pointer) => Promise<void>,
): Promise<void> {
  const { api } = ort();
  const options = create((slot) => api.CreateRunOptions(slot));
  const terminate = () => check(api.RunOptionsSetTerminate(options));
  try {
    if (isQuiet) check(api.RunOptionsSetRunLogSeverityLevel(options, FATAL));
    if (recording !== undefined)
      check(api.AddRunConfigEntry(options, RECORDING, String(recording)));
    signal?.addEventListener("abort", terminate, { once: true });
    await run(options);
  } catch (thrown) {
    signal?.throwIfAborted();
    throw thrown;
  } finally {
    signal?.removeEventListener("abort", terminate);
    api.ReleaseRunOptions(options);
  }
}

function setThreads(settings: Pointer, { threads, staysAwake = false }: SessionOptions): void {
  const { api } = ort();
  if (threads > 1 && !staysAwake) check(api.DisablePerSessionThreads(settings));
  else check(api.SetIntraOpNumThreads(settings, threads));
}

const OPTIMISE_ALL = 99;
const OPTIMISE_NOTHING = 0;

function createSettings(options: SessionOptions): Pointer {
  const { api } = ort();
  const settings = create((slot) => api.CreateSessionOptions(slot));
  try {
    // What it warns of while it optimises a graph is nothing that its user could change.
    check(api.SetSessionLogSeverityLevel(settings, options.isQuiet === true ? FATAL : ERROR));
    setThreads(settings, options);
    const level = options.isOptimised === true ? OPTIMISE_NOTHING : OPTIMISE_ALL;
    check(api.SetSessionGraphOptimizationLevel(settings, level));
    // One block of memory for each shape of inputs ever seen: the arena grows for every one.
    const plan = options.plans === true ? api.EnableMemPattern : api.DisableMemPattern;
    check(plan(settings));
    for (const [key, value] of configEntries(options))
      check(api.AddSessionConfigEntry(settings, key, value));
    if (options.optimisedPath !== undefined)
      check(api.SetOptimizedModelFilePath(settings, options.optimisedPath));
    if (options.profilePath !== undefined)
      check(api.EnableProfiling(settings, options.profilePath));
    const { providers, providerOptions } = options;
    for (const name of providers) appendProvider(settings, name, providerOptions);
    if (sharesArena(providers, providerOptions))
      check(api.AddSessionConfigEntry(settings, "session.use_env_allocators", "1"));
    return settings;
  } catch (thrown) {
    api.ReleaseSessionOptions(settings);
    throw thrown;
  }
}

/** By the names of onnxruntime_session_options_config_keys.h. */
function configEntries(options: SessionOptions): (readonly [string, string])[] {
  const { packs = true, staysAwake = false, refusesFallback = false, weightsFolder } = options;
  const entries = {
    "session.intra_op.spin_duration_us": staysAwake ? "50" : undefined,
    "session.intra_op.spin_backoff_max": staysAwake ? "8" : undefined,
    "session.disable_prepacking": packs ? undefined : "1",
    "session.disable_cpu_ep_fallback": refusesFallback ? "1" : undefined,
    "session.model_external_initializers_file_folder_path": weightsFolder,
  };
  return Object.entries(entries).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, value] as const],
  );
}

function describeGraph(session: Pointer): GraphInfo {
  const { api } = ort();
  return {
    inputs: describeSide(session, {
      count: api.SessionGetInputCount,
      name: api.SessionGetInputName,
      info: api.SessionGetInputTypeInfo,
    }),
    outputs: describeSide(session, {
      count: api.SessionGetOutputCount,
      name: api.SessionGetOutputName,
      info: api.SessionGetOutputTypeInfo,
    }),
  };
}

type Entry = ReturnType<typeof ort>["api"]["CreateIoBinding"];

function describeSide(
  session: Pointer,
  entries: { readonly count: Entry; readonly name: Entry; readonly info: Entry },
): TensorInfo[] {
  const { api, hostAllocator } = ort();
  const count = Number(create((slot) => entries.count(session, slot)));
  return Array.from({ length: count }, (_, at) => at).flatMap((at) => {
    const text = create((slot) => entries.name(session, at, hostAllocator, slot));
    const name = koffi.decode.string(text);
    check(api.AllocatorFree(hostAllocator, text));
    const info = create((slot) => entries.info(session, at, slot));
    try {
      // Null where it is no tensor.
      const shape = create((slot) => api.CastTypeInfoToTensorInfo(info, slot));
      return shape === 0n ? [] : [{ name, ...readShapeInfo(shape) }];
    } catch (cause) {
      throw new Error(`${name} cannot be used: ${messageOf(cause)}`, { cause });
    } finally {
      api.ReleaseTypeInfo(info);
    }
  });
}
