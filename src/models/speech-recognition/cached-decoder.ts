import { type Graphs, KeptValues } from "../../runtime/ort/graphs.js";
import type { Feed, Feeds } from "../../runtime/ort/session.js";
import {
  bool,
  float32,
  floatsOf,
  type GraphInfo,
  int64Of,
  type TensorInfo,
  type Tensors,
} from "../../runtime/tensors/tensor.js";

/** An encoder (role `encoder`) and a decoder with caches, merged or as a pair. */
export interface EncoderDecoder {
  readonly thread: Graphs;
  /** Role of the graph that reads a prompt, and of the one that reads one token more. */
  readonly promptRole: string;
  readonly stepRole: string;
  /** Heads of the decoder's caches and the length of one, where the graph leaves them open. */
  readonly heads: number;
  readonly headSize: number;
}

/**
 * A decoder over what the encoder heard in one window of sound. Encoder states and caches stay where the
 * graphs run; only what is fetched leaves them.
 */
export interface CachedDecoder {
  /** Encodes for what follows; `beside` is fed to the decoder with the states. */
  encode(inputs: Feeds, beside?: Feeds): Promise<void>;
  /** Reads a prompt from nothing; logits [tokens, vocabulary]. */
  start(prompt: readonly number[]): Promise<Float32Array>;
  /** Goes back to the end of the prompt. */
  rewind(): void;
  /** Reads one token more; logits over the vocabulary. */
  step(token: number): Promise<Float32Array>;
  /** Other outputs of reading all of `ids`; leaves caches alone. */
  look(ids: readonly number[], fetch: readonly string[]): Promise<Tensors>;
  close(): void;
}

const PAST = "past_key_values.";
const PRESENT = "present.";

/** Roles of a package's decoder: merged, or a pair. */
export function decoderRoles(files: Readonly<Record<string, unknown>>) {
  const isMerged = files["decoder-merged"] !== undefined;
  return isMerged
    ? { promptRole: "decoder-merged", stepRole: "decoder-merged" }
    : { promptRole: "decoder", stepRole: "decoder-with-past" };
}

export function createCachedDecoder(model: EncoderDecoder): CachedDecoder {
  const { thread, promptRole, stepRole } = model;
  // `0.decoder.key` and so on: what the step graph wants of the past.
  const caches = pastInputs(thread.info[stepRole]).map(({ name }) => name.slice(PAST.length));
  const own = caches.filter((cache) => !cache.includes(".encoder."));
  const emptyPasts = emptyPastsOf(model);
  const states = new KeptValues();
  let besides: Feeds = {};
  /** After the prompt, and after the tokens that were read since. */
  const [started, stepped] = [new KeptValues(), new KeptValues()];
  const feedsOf = (ids: readonly number[], isStep: boolean): Feeds => ({
    ...besides,
    ...states.values,
    input_ids: int64Of(ids, [1, ids.length]),
    use_cache_branch: bool([isStep], [1]),
  });
  const pastOf = (present: string) => PAST + present.slice(PRESENT.length);
  const keepOf = (names: readonly string[]) => names.map((cache) => PRESENT + cache);
  return {
    async encode(inputs, beside = {}) {
      const keep = [thread.info["encoder"]?.outputs[0]?.name ?? "last_hidden_state"];
      const { values } = await thread.step("encoder", inputs, { keep });
      states.put(values, () => "encoder_hidden_states");
      besides = beside;
    },
    async start(prompt) {
      stepped.close();
      const feeds = { ...emptyPasts, ...feedsOf(prompt, false) };
      const targets = { keep: keepOf(caches), fetch: ["logits"] };
      const { tensors, values } = await thread.step(promptRole, feeds, targets);
      started.put(values, pastOf);
      return floatsOf(tensors, "logits");
    },
    rewind: () => stepped.close(),
    async step(token) {
      const feeds = { ...started.values, ...stepped.values, ...feedsOf([token], true) };
      const targets = { keep: keepOf(own), fetch: ["logits"] };
      const { tensors, values } = await thread.step(stepRole, feeds, targets);
      stepped.put(values, pastOf);
      return floatsOf(tensors, "logits");
    },
    look: (ids, fetch) =>
      thread.run(promptRole, { ...emptyPasts, ...feedsOf(ids, false) }, { fetch }),
    close() {
      for (const kept of [states, started, stepped]) kept.close();
    },
  };
}

function emptyPastsOf(model: EncoderDecoder): Record<string, Feed> {
  const inputs = pastInputs(model.thread.info[model.promptRole]);
  return Object.fromEntries(inputs.map((input) => [input.name, emptyPast(input, model)]));
}

function pastInputs(graph: GraphInfo | undefined): TensorInfo[] {
  return (graph?.inputs ?? []).filter(({ name }) => name.startsWith(PAST));
}

/** A cache of no tokens [1, heads, 0, headSize]. */
function emptyPast({ dims }: TensorInfo, { heads, headSize }: EncoderDecoder): Feed {
  const sized = (dim: number | string | undefined, size: number) =>
    typeof dim === "number" && dim > 0 ? dim : size;
  const shape = [1, sized(dims[1], heads), 0, sized(dims[3], headSize)];
  return float32(new Float32Array(0), shape);
}
