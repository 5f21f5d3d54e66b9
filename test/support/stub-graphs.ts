import type { Graphs, RunOptions } from "#framemill/runtime/ort/graphs.js";
import type { Feeds } from "#framemill/runtime/ort/session.js";
import { Value } from "#framemill/runtime/ort/value.js";
import {
  float32,
  type GraphInfo,
  type Tensor,
  type Tensors,
} from "#framemill/runtime/tensors/tensor.js";

/** Graphs whose runs are a function; what they keep is one number each. */
export function stubGraphs(
  info: Readonly<Record<string, GraphInfo>>,
  run: (role: string, feeds: Tensors, options: RunOptions) => Promise<Tensors>,
): Graphs {
  const step: Graphs["step"] = async (role, feeds, options) => {
    const tensors = await run(role, readFeeds(feeds), options);
    const kept = (options.keep ?? []).map((name) => {
      return [name, Value.of(float32(new Float32Array(1), [1]))] as const;
    });
    return { tensors, values: Object.fromEntries(kept) };
  };
  return {
    info,
    isOnHost: true,
    run: (role, feeds, options = {}) => run(role, readFeeds(feeds), options),
    step,
    place: (_role, tensors) =>
      Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, Value.of(tensor)])),
    bind(role, feeds, targets) {
      const fed = { ...feeds };
      return {
        feed: (name, feed) => void (fed[name] = feed),
        run: (settings) => step(role, fed, { ...targets, ...settings }),
        close() {},
      };
    },
    close: () => Promise.resolve(),
  };
}

function readFeeds(feeds: Feeds): Tensors {
  const tensors = Object.entries(feeds).map(([name, feed]): [string, Tensor] => {
    return [name, feed instanceof Value ? feed.read() : feed];
  });
  return Object.fromEntries(tensors);
}
