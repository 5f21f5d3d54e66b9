import { createMutex } from "../../core/async/mutex.js";
import type { ProviderOptions } from "../../core/modality.js";
import { castTensor, type Tensors } from "../tensors/tensor.js";
import type { Binding, Feed, Feeds, RunSettings, Session, Values } from "./session.js";
import { Value } from "./value.js";

/** Options by which providers record a run, and replay it at the cost of one launch. */
const OPTIONS: ProviderOptions = {
  cuda: { enable_cuda_graph: "1" },
  tensorrt: { trt_cuda_graph_enable: "1" },
  webgpu: { enableGraphCapture: "1" },
};

/** Whether the first provider is asked to record runs. */
export function records([first = "cpu"]: readonly string[], given: ProviderOptions = {}): boolean {
  const names = Object.keys(OPTIONS[first] ?? {});
  return names.some((name) => /^(1|true)$/i.test(given[first]?.[name] ?? ""));
}

/** Without recording: a graph that branches, or whose shapes do not repeat, cannot be. */
export function withoutRecording(given: ProviderOptions = {}): ProviderOptions {
  return Object.fromEntries(
    Object.entries(given).map(([provider, options]) => {
      const kept = Object.entries(options).filter(([name]) => !(name in (OPTIONS[provider] ?? {})));
      return [provider, Object.fromEntries(kept)];
    }),
  );
}

/** Inputs and outputs of one set of shapes, which stay where they are on the device. */
interface Recorded {
  readonly number: number;
  readonly inputs: Values;
  readonly outputs: Values;
  readonly binding: Binding;
}

/** A recording and its memory last as long as the session; further shapes run without. */
const MOST_SHAPES = 8;

/** Runs whose feeds are copied to where the recorded run reads, and whose outputs from where it writes. */
export interface Replay {
  run(feeds: Feeds, fetch: readonly string[], settings?: RunSettings): Promise<Tensors>;
  /** Frees the memory of its recordings once no run is under way; before the session is closed. */
  close(): Promise<void>;
}

export function createReplay(session: Session): Replay {
  const recorded = new Map<string, Recorded>();
  // Its inputs belong to one run at a time.
  const turn = createMutex();
  let last: { readonly number: number; readonly feeds: Feeds } | undefined;

  /**
   * Copies feeds to where the recording reads. A value that was there for the run before still is: between
   * them no other recording ran, which may have had its memory in the same place.
   */
  const refill = ({ number, inputs }: Recorded, feeds: Feeds) => {
    const before = last?.number === number ? last.feeds : {};
    last = undefined;
    for (const [name, target] of Object.entries(inputs)) {
      const feed = feeds[name];
      if (feed === undefined) throw new Error(`the input ${name} is missing`);
      if (!(feed instanceof Value && before[name] === feed)) writeFeed(target, feed);
    }
    last = { number, feeds };
  };

  /** A run of its own, whose outputs are the places of those to come. */
  const begin = async (
    key: string,
    feeds: Feeds,
    fetch: readonly string[],
    given?: RunSettings,
  ) => {
    const settings = { ...given, recording: -1 };
    const outputs = await session.run(feeds, { keep: fetch }, settings);
    const tensors = readAll(outputs);
    if (recorded.size === MOST_SHAPES) {
      for (const value of Object.values(outputs)) value.close();
      return tensors;
    }
    const read = Object.entries(feeds).map(([name, feed]) => {
      return [name, feed instanceof Value ? feed.read() : feed] as const;
    });
    const inputs = session.place(Object.fromEntries(read));
    const binding = session.bind(inputs, { into: outputs });
    recorded.set(key, { number: recorded.size + 1, inputs, outputs, binding });
    return tensors;
  };

  return {
    async run(feeds, fetch, settings) {
      const leave = await turn.enter(settings?.signal);
      try {
        const key = keyOf(feeds, fetch);
        const known = recorded.get(key);
        if (known === undefined) {
          last = undefined;
          return await begin(key, feeds, fetch, settings);
        }
        refill(known, feeds);
        await known.binding.run({ ...settings, recording: known.number });
        return readAll(known.outputs);
      } finally {
        leave();
      }
    },
    async close() {
      for (const { binding, inputs, outputs } of recorded.values()) {
        await binding.close();
        for (const value of [...Object.values(inputs), ...Object.values(outputs)]) value.close();
      }
    },
  };
}

function writeFeed(target: Value, feed: Feed): void {
  if (feed instanceof Value) return target.write(feed);
  const source = Value.of(castTensor(feed, target.type));
  try {
    target.write(source);
  } finally {
    source.close();
  }
}

function keyOf(feeds: Feeds, fetch: readonly string[]): string {
  return JSON.stringify([Object.entries(feeds).map(([name, { dims }]) => [name, dims]), fetch]);
}

function readAll(values: Values): Tensors {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value.read()]));
}
