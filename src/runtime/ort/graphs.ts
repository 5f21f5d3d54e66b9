import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { messageOf } from "../../core/errors.js";
import { unixMs } from "../../core/time.js";
import type { GraphRun, PipelineSetup } from "../../core/modality.js";
import { checkExternalData, explainOpenFailure } from "../onnx/onnx-check.js";
import { keepLastPosition } from "../onnx/last-position.js";
import { readOnnxOutline } from "../onnx/onnx-outline.js";
import { castTensor, type GraphInfo, type Tensor, type Tensors } from "../tensors/tensor.js";
import { findKeptGraph, type GraphSource, type KeptGraph } from "./graph-cache.js";
import { readPlacement } from "./placement.js";
import { createReplay, records, withoutRecording } from "./replay.js";
import { toRunError } from "./run-error.js";
import {
  type Feed,
  type Feeds,
  type RunSettings,
  Session,
  type SessionOptions,
  type Targets,
  type Values,
} from "./session.js";
import type { Value } from "./value.js";

export interface GraphsSetup extends Pick<
  SessionOptions,
  "providers" | "providerOptions" | "threads" | "packs" | "plans" | "staysAwake"
> {
  /** Role → path of the graph. */
  readonly graphs: Readonly<Record<string, string>>;
  /** Roles whose runs repeat their shapes: where a provider is asked to record runs, it records theirs. */
  readonly repeats?: readonly string[];
  /** Role → output [rows, positions, width] of which only the last position is computed, where that can be. */
  readonly lastPositionOf?: Readonly<Record<string, string>> | undefined;
  /** Given each graph of which another provider than the CPU is to run nodes. */
  readonly onOpen?: PipelineSetup["onOpen"];
}

export interface RunOptions extends RunSettings {
  /** Outputs to return; all that have no other target where absent. */
  readonly fetch?: readonly string[];
}

export interface StepOptions extends RunSettings, Targets {}

/** A run's outputs: those that were fetched, and those that stay where the graph runs, to be closed. */
export interface Step {
  readonly tensors: Tensors;
  readonly values: Values;
}

/**
 * Open graphs by role. A run feeds only what its graph declares, in the type that it declares, and float16
 * comes back as float32. Any number of runs may be under way at once; failures are `JobError`s.
 */
export interface Graphs {
  readonly info: Readonly<Record<string, GraphInfo>>;
  /** Whether what stays where the graphs run is in this process's memory. */
  readonly isOnHost: boolean;
  run(role: string, feeds: Feeds, options?: RunOptions): Promise<Tensors>;
  /** A run of which outputs stay on the device, or are written into given memory. */
  step(role: string, feeds: Feeds, options: StepOptions): Promise<Step>;
  /**
   * Feeds that many runs share, where the graph computes and in the types that it declares; what it does
   * not declare is left out. The caller closes them.
   */
  place(role: string, tensors: Tensors): Values;
  /**
   * A step that is repeated: nothing is bound anew but what is fed anew. The caller closes it. Throws where
   * the graph needs an input that is not there, or has no such output.
   */
  bind(role: string, feeds: Feeds, targets: Targets): RepeatedStep;
  /** Waits for the runs that are under way. */
  close(): Promise<void>;
}

/** Runs of one graph, one after the other, that share inputs and targets. */
export interface RepeatedStep {
  /** Takes the place of an input; memory that was fed before is read anew without it. */
  feed(name: string, feed: Feed): void;
  run(settings?: RunSettings): Promise<Step>;
  /** Takes effect when the run has ended that is under way. */
  close(): void;
}

/** Throws ONNX Runtime's sentence for the first graph that cannot be used. */
export async function openGraphs(
  setup: GraphsSetup,
  onRun: (run: GraphRun) => void = () => {},
): Promise<Graphs> {
  const opening = Object.entries(setup.graphs).map(async ([role, path]) => {
    return [role, await openSession(role, path, setup)] as const;
  });
  const settled = await Promise.allSettled(opening);
  const opened = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = settled.find((one) => one.status === "rejected");
  if (failed !== undefined) {
    for (const [, session] of opened) await session.close();
    throw failed.reason;
  }
  const { providers, providerOptions, repeats = [] } = setup;
  const replayed = records(providers, providerOptions) ? repeats : [];
  return createGraphs(new Map(opened), replayed, onRun);
}

function createGraphs(
  sessions: ReadonlyMap<string, Session>,
  replayed: readonly string[],
  onRun: (run: GraphRun) => void,
): Graphs {
  const replays = new Map(
    [...sessions].flatMap(([role, session]) =>
      replayed.includes(role) ? [[role, createReplay(session)] as const] : [],
    ),
  );
  const get = (role: string): Session => {
    const session = sessions.get(role);
    if (session === undefined) throw new Error(`no graph has the role ${role}`);
    return session;
  };
  /** Reports when a run began and ended, or what failed. */
  const measured = async <T>(role: string, run: () => Promise<T>, settings?: RunSettings) => {
    const startedAtMs = unixMs();
    try {
      const made = await run();
      onRun({ role, startedAtMs, endedAtMs: unixMs() });
      return made;
    } catch (thrown) {
      if (settings?.signal?.aborted === true) throw thrown;
      throw toRunError(thrown, role);
    }
  };
  const bind = (role: string, feeds: Feeds, targets: Targets): RepeatedStep => {
    const session = get(role);
    const binding = orRunError(role, () => session.bind(feeds, targets));
    // Only what is replayed keeps its places.
    const whole = (settings?: RunSettings): RunSettings =>
      replays.has(role) ? { ...settings, recording: -1 } : { ...settings };
    return {
      feed: (name, feed) => binding.feed(name, feed),
      run: (settings) =>
        measured(
          role,
          async () => split(await binding.run(whole(settings)), targets.fetch ?? []),
          settings,
        ),
      close: () => void binding.close(),
    };
  };
  const step = async (role: string, feeds: Feeds, options: StepOptions): Promise<Step> => {
    const once = bind(role, feeds, options);
    try {
      return await once.run(options);
    } finally {
      once.close();
    }
  };
  return {
    info: Object.fromEntries([...sessions].map(([role, { info }]) => [role, info])),
    isOnHost: [...sessions.values()].every((session) => session.isOnHost),
    place(role, tensors) {
      const session = get(role);
      // A recording has its own places; what else lay on the device might lie where it writes.
      const onHost = replays.has(role) || session.isOnHost;
      return orRunError(role, () => session.place(tensors, onHost));
    },
    bind,
    step,
    async run(role, feeds, options = {}) {
      const outputs = sessions.get(role)?.info.outputs ?? [];
      const fetch = options.fetch ?? outputs.map(({ name }) => name);
      const replay = replays.get(role);
      if (replay !== undefined) {
        const made = await measured(role, () => replay.run(feeds, fetch, options), options);
        return Object.fromEntries(Object.entries(made).map(([name, one]) => [name, widened(one)]));
      }
      return (await step(role, feeds, { ...options, fetch })).tensors;
    },
    async close() {
      for (const replay of replays.values()) await replay.close();
      for (const session of sessions.values()) await session.close();
    },
  };
}

function orRunError<T>(role: string, make: () => T): T {
  try {
    return make();
  } catch (thrown) {
    throw toRunError(thrown, role);
  }
}

function widened(tensor: Tensor): Tensor {
  return tensor.type === "float16" ? castTensor(tensor, "float32") : tensor;
}

/** Reads what was fetched; the rest stays a value. */
function split(values: Values, fetched: readonly string[]): Step {
  const tensors: Record<string, Tensor> = {};
  const kept: Record<string, Value> = {};
  for (const [name, value] of Object.entries(values)) {
    if (!fetched.includes(name)) kept[name] = value;
    else {
      const tensor = value.read();
      value.close();
      tensors[name] = widened(tensor);
    }
  }
  return { tensors, values: kept };
}

/** Values by name, for the next run; each is closed when another takes its place. */
export class KeptValues {
  #values: Values = {};

  get values(): Values {
    return this.#values;
  }

  /** Takes these, each under the name that `rename` gives it. */
  put(values: Values, rename = (name: string) => name): void {
    const entries = Object.entries(values).map(([name, value]) => [rename(name), value] as const);
    for (const [name] of entries) this.#values[name]?.close();
    this.#values = { ...this.#values, ...Object.fromEntries(entries) };
  }

  close(): void {
    for (const value of Object.values(this.#values)) value.close();
    this.#values = {};
  }
}

async function openSession(role: string, path: string, given: GraphsSetup): Promise<Session> {
  const { repeats = [], providerOptions } = given;
  const setup = repeats.includes(role)
    ? given
    : { ...given, providerOptions: withoutRecording(providerOptions) };
  try {
    const source = readSource(role, path, setup);
    const { onOpen, providers } = setup;
    if (onOpen !== undefined && isOffCpu(providers))
      return await openWatched(role, source, { ...setup, onOpen });
    const kept = await findKeptGraph({ ...source, providers });
    return kept === undefined
      ? await openSource(source, setup)
      : await openKept(source, kept, setup);
  } catch (cause) {
    const reason = messageOf(cause);
    // ONNX Runtime names the tensor and not the file.
    if (/external initializer|external data/i.test(reason))
      await checkExternalData({ role, path, outline: readOnnxOutline(path) }, (file) => file);
    throw new Error(explainOpenFailure(`${role} (${path})`, reason), { cause });
  }
}

function isOffCpu(providers: readonly string[]): boolean {
  return providers.some((name) => name !== "cpu");
}

function readSource(role: string, path: string, { lastPositionOf }: GraphsSetup): GraphSource {
  const output = lastPositionOf?.[role];
  return { path, content: output === undefined ? undefined : keepLastPosition(path, output) };
}

function openSource({ path, content }: GraphSource, options: SessionOptions): Promise<Session> {
  if (content === undefined) return Session.open(path, options);
  return Session.open(content, { ...options, weightsFolder: dirname(path) });
}

/** Opens a graph whose runs are noted until its placement is read. */
async function openWatched(
  role: string,
  source: GraphSource,
  { onOpen, ...setup }: GraphsSetup & Required<Pick<GraphsSetup, "onOpen">>,
): Promise<Session> {
  const profilePath = join(tmpdir(), `framemill-placement-${randomUUID()}`);
  const session = await openSource(source, { ...setup, profilePath });
  onOpen?.(() => readPlacement(role, session.endProfile()));
  return session;
}

/** Opens what is kept as it is; where there is nothing that opens, optimises the graph and keeps that. */
async function openKept(
  source: GraphSource,
  { path: keptPath, draftPath, keep }: KeptGraph,
  setup: GraphsSetup,
): Promise<Session> {
  if (keptPath !== undefined) {
    const asItIs = { ...setup, isOptimised: true };
    const session = await Session.open(keptPath, asItIs).catch(() => undefined);
    if (session !== undefined) return session;
  }
  const session = await openSource(source, { ...setup, optimisedPath: draftPath });
  // A full disk costs the next start its time, nothing more.
  await keep().catch(() => {});
  return session;
}

/** Weights that take longer to pack than two openings take beside it, in bytes. */
const LARGE_BYTES = 64 * 2 ** 20;
const FLOAT32 = 1;

/**
 * Graphs whose weights are large and mapped serve unpacked at first; the same graphs with packed weights
 * open behind them and take over, each run ending where it began.
 */
export async function openGraphsSoon(
  setup: GraphsSetup,
  onRun?: (run: GraphRun) => void,
): Promise<Graphs> {
  if (!isMappedAndLarge(setup)) return await openGraphs(setup, onRun);
  let graphs = await openGraphs({ ...setup, packs: false }, onRun);
  // Whoever waits for the graphs goes first.
  const opening = nextTurn().then(() => openGraphs(setup, onRun));
  const packing = opening.then((packed) => {
    const unpacked = graphs;
    graphs = packed;
    return unpacked.close();
  }, warnUnpacked);
  return {
    info: graphs.info,
    isOnHost: graphs.isOnHost,
    place: (...given) => graphs.place(...given),
    run: (...given) => graphs.run(...given),
    step: (...given) => graphs.step(...given),
    bind(role, feeds, targets) {
      const fed = { ...feeds };
      return {
        feed: (name, feed) => void (fed[name] = feed),
        run: (settings) => graphs.step(role, fed, { ...targets, ...settings }),
        close() {},
      };
    },
    async close() {
      await packing;
      await graphs.close();
    },
  };
}

/** Other types than float32 have kernels that are several times slower unpacked. */
function isMappedAndLarge({ graphs, providers }: GraphsSetup): boolean {
  if (isOffCpu(providers)) return false;
  const tensors = Object.values(graphs).flatMap((path) => readOnnxOutline(path).externalTensors);
  const byteLength = tensors.reduce((sum, tensor) => sum + (tensor.byteLength ?? 0), 0);
  return byteLength >= LARGE_BYTES && tensors.every(({ elementType }) => elementType === FLOAT32);
}

/** What is open goes on serving, more slowly. */
function warnUnpacked(thrown: unknown): void {
  process.emitWarning(`the graphs serve without packed weights: ${messageOf(thrown)}`);
}
