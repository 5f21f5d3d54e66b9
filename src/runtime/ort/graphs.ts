import { InferenceSession, Tensor as OrtTensor } from "onnxruntime-node";
import { messageOf } from "../../core/errors.js";
import { createDeviceReader, type DeviceReader, outputPlaces } from "./device-tensors.js";
import { findKeptGraph, type KeptGraph } from "./graph-cache.js";
import {
  castTensor,
  type GraphInfo,
  type Tensor,
  type TensorInfo,
  type Tensors,
  type TensorType,
} from "../tensors/tensor.js";
import { freeMemory } from "./free-memory.js";

export interface GraphsSetup {
  /** Role → path of the graph. */
  readonly graphs: Readonly<Record<string, string>>;
  /** Threads one operator may use. */
  readonly threads: number;
  /** Execution providers in order of preference, e.g. `["cpu"]`. */
  readonly providers: readonly string[];
  /**
   * Whether matrices are copied into the order that the CPU's kernels like; true by default. Without, a
   * graph whose weights are mapped opens in a fraction of the time and runs slower.
   */
  readonly packs?: boolean;
  /**
   * Whether memory is planned for each shape of inputs and kept for it, false by default: for small
   * runs, of which each allocation is a part that counts.
   */
  readonly plans?: boolean;
  /**
   * Role → how the names of the outputs begin that its runs keep. Where the first provider is WebGPU they
   * stay on the device; without this a kept output goes to the host and back with every run.
   */
  readonly keeps?: Readonly<Record<string, readonly string[]>>;
}

/** A tensor by value, or the name under which an earlier run kept one. */
export type Feed = Tensor | { readonly kept: string };
export type Feeds = Readonly<Record<string, Feed>>;

export interface RunOptions {
  /** Output name → name to keep it under, where the graph runs; it is not returned. */
  readonly keep?: Readonly<Record<string, string>>;
  /** Outputs to return; all that are not kept by default. */
  readonly fetch?: readonly string[];
  /** Whether a failure is only thrown and not also logged: for trials whose failure is an answer. */
  readonly quiet?: boolean;
}

/**
 * Open ONNX graphs. `run` feeds only what a graph declares, in the type that it declares, and returns
 * float16 as float32. It blocks the event loop of its thread; `session.ts` gives it one of its own.
 */
export interface Graphs {
  readonly info: Readonly<Record<string, GraphInfo>>;
  run(role: string, feeds: Feeds, options?: RunOptions): Promise<Tensors>;
  /** A kept tensor, float16 as its bits; a copy of it where it lies on a device. */
  kept(name: string): Promise<Tensor>;
  /** Keeps a tensor under a name, in place of what was there. */
  put(name: string, tensor: Tensor): void;
  drop(names: Iterable<string>): void;
  /** Drops tensors that nobody else holds, and frees their memory on the host at once. */
  free(names: Iterable<string>): void;
  close(): Promise<void>;
}

/** Throws the loader's sentence for the first graph that cannot be used. */
export async function openGraphs(setup: GraphsSetup): Promise<Graphs> {
  const sessions = new Map<string, InferenceSession>();
  const info: Record<string, GraphInfo> = {};
  for (const [role, path] of Object.entries(setup.graphs)) {
    const session = await openSession(path, setup, setup.keeps?.[role] ?? []);
    sessions.set(role, session);
    info[role] = describeGraph(session);
  }
  return createGraphs(sessions, info, createDeviceReader(setup.providers));
}

async function openSession(
  path: string,
  setup: GraphsSetup,
  keeps: readonly string[],
): Promise<InferenceSession> {
  try {
    const places = outputPlaces(path, keeps, setup.providers);
    const options = { ...sessionOptions(setup), ...places };
    const kept = await findKeptGraph({ path, providers: setup.providers });
    return kept === undefined
      ? await InferenceSession.create(path, options)
      : await openKept(path, kept, options);
  } catch (cause) {
    const reason = messageOf(cause);
    throw new Error(`${path} does not open: ${reason}`, { cause });
  }
}

function sessionOptions(setup: GraphsSetup): InferenceSession.SessionOptions {
  const { providers, threads, packs = true, plans = false } = setup;
  return {
    executionProviders: [...providers],
    intraOpNumThreads: threads,
    // What it warns of while it optimises a graph is nothing that its user could change.
    logSeverityLevel: 3,
    interOpNumThreads: 1,
    graphOptimizationLevel: "all",
    // One block of memory for each shape of inputs ever seen: the arena grows for every one.
    enableMemPattern: plans,
    ...(!packs && { extra: { session: { disable_prepacking: "1" } } }),
  };
}

/** Opens what is kept as it is; where there is nothing that opens, optimises the graph and keeps that. */
async function openKept(
  path: string,
  { path: keptPath, draftPath, keep }: KeptGraph,
  options: InferenceSession.SessionOptions,
): Promise<InferenceSession> {
  if (keptPath !== undefined) {
    const asItIs = { ...options, graphOptimizationLevel: "disabled" } as const;
    const session = await InferenceSession.create(keptPath, asItIs).catch(() => undefined);
    if (session !== undefined) return session;
  }
  const session = await InferenceSession.create(path, {
    ...options,
    optimizedModelFilePath: draftPath,
  });
  // A full disk costs the next start its time, nothing more.
  await keep().catch(() => {});
  return session;
}

function createGraphs(
  sessions: Map<string, InferenceSession>,
  info: Readonly<Record<string, GraphInfo>>,
  reader: DeviceReader,
): Graphs {
  const kept = createKeptTensors();
  return {
    info,
    async run(role, feeds, { keep = {}, fetch, quiet = false } = {}) {
      const session = sessions.get(role);
      const graph = info[role];
      if (session === undefined || graph === undefined)
        throw new Error(`no graph has the role ${role}`);
      const inputs = gatherInputs(role, graph, (name, type) => {
        const feed = feeds[name];
        if (feed === undefined) return undefined;
        return "kept" in feed ? kept.take(feed.kept) : toOrt(castTensor(feed, type));
      });
      const wanted =
        fetch ?? graph.outputs.map(({ name }) => name).filter((name) => !(name in keep));
      const results = await session.run(
        inputs,
        [...new Set([...wanted, ...Object.keys(keep)])],
        quiet ? { logSeverityLevel: 4 } : {},
      );
      const outputs: Record<string, Tensor> = {};
      for (const name of wanted) outputs[name] = await readOutput(results, name, reader);
      for (const [name, as] of Object.entries(keep)) {
        const result = results[name];
        if (result === undefined) throw new Error(`the graph ${role} has no output ${name}`);
        kept.put(as, result);
      }
      return outputs;
    },
    kept: async (name) => fromOrt(await reader.read(kept.take(name))),
    put: (name, tensor) => kept.put(name, toOrt(tensor)),
    drop: kept.drop,
    free: kept.free,
    async close() {
      // A process that ends with tensors on a WebGPU device aborts.
      kept.dropAll();
      await reader.close();
      for (const session of sessions.values()) await session.release();
    },
  };
}

/** What the graph declares and nothing else. */
function gatherInputs(
  role: string,
  { inputs }: GraphInfo,
  find: (name: string, type: TensorType) => OrtTensor | undefined,
): Record<string, OrtTensor> {
  const entries = inputs.map(({ name, type }) => {
    const tensor = find(name, type);
    if (tensor === undefined) throw new Error(`the graph ${role} needs the input ${name}`);
    return [name, tensor] as const;
  });
  return Object.fromEntries(entries);
}

async function readOutput(
  results: InferenceSession.OnnxValueMapType,
  name: string,
  reader: DeviceReader,
): Promise<Tensor> {
  const value = results[name];
  if (value === undefined) throw new Error(`the graph has no output ${name}`);
  const here = await reader.read(value);
  if (here !== value) value.dispose();
  const tensor = fromOrt(here);
  return tensor.type === "float16" ? castTensor(tensor, "float32") : tensor;
}

function describeGraph({ inputMetadata, outputMetadata }: InferenceSession): GraphInfo {
  const tensors = (metadata: readonly InferenceSession.ValueMetadata[]) =>
    metadata.flatMap((value) => (value.isTensor ? [describeTensor(value)] : []));
  return { inputs: tensors(inputMetadata), outputs: tensors(outputMetadata) };
}

function describeTensor(value: InferenceSession.TensorValueMetadata): TensorInfo {
  if (!isOurs(value.type))
    throw new Error(`${value.name} has the type ${value.type}, which is not read`);
  return { name: value.name, type: value.type, dims: value.shape };
}

function toOrt({ type, data, dims }: Tensor): OrtTensor {
  // A tensor's type and the class of its data go together; the union has lost the pairing.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return new OrtTensor(type, data as never, dims);
}

function fromOrt({ type, data, dims }: OrtTensor): Tensor {
  if (!isOurs(type) || !ArrayBuffer.isView(data))
    throw new Error(`outputs of type ${type} are not read`);
  // Which typed array goes with which type is ONNX Runtime's own contract.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { type, data: data as Tensor["data"], dims };
}

const OURS: readonly string[] = [
  "float32",
  "float16",
  "float64",
  "int64",
  "int32",
  "int8",
  "uint8",
  "bool",
] satisfies TensorType[];

function isOurs(type: string): type is TensorType {
  return OURS.includes(type);
}

/** Tensors by the names under which runs find them. */
interface KeptTensors {
  /** Throws where none is kept under the name. */
  take(name: string): OrtTensor;
  /** Keeps a tensor in place of what was there. */
  put(name: string, tensor: OrtTensor): void;
  readonly drop: (names: Iterable<string>) => void;
  /** Drops tensors that nobody else holds, and frees their memory on the host at once. */
  readonly free: (names: Iterable<string>) => void;
  dropAll(): void;
}

function createKeptTensors(): KeptTensors {
  const kept = new Map<string, OrtTensor>();
  const drop = (names: Iterable<string>) => {
    for (const name of names) {
      kept.get(name)?.dispose();
      kept.delete(name);
    }
  };
  return {
    take(name) {
      const tensor = kept.get(name);
      if (tensor === undefined) throw new Error(`no tensor is kept as ${name}`);
      return tensor;
    },
    put(name, tensor) {
      kept.get(name)?.dispose();
      kept.set(name, tensor);
    },
    drop,
    free(names) {
      for (const name of names) {
        const tensor = kept.get(name);
        const data = tensor?.location === "cpu" ? tensor.data : undefined;
        drop([name]);
        if (ArrayBuffer.isView(data)) freeMemory(data);
      }
    },
    dropAll() {
      drop([...kept.keys()]);
    },
  };
}
