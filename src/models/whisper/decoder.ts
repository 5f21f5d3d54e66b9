import { KeptValues } from "../../runtime/ort/graphs.js";
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
import type { WhisperModel } from "./model.js";

/** Logits over the vocabulary where a prompt leads: at one of its tokens, and after its last. */
export interface PromptLogits {
  readonly atMark: Float32Array;
  readonly last: Float32Array;
}

/** Attention weights [heads, tokens, frames] of one layer, 50 frames a second. */
export interface CrossAttention {
  readonly weights: Float32Array;
  readonly heads: number;
  readonly frames: number;
}

/**
 * Whisper's decoder over one window of sound at a time. Encoder states and caches stay in the session
 * thread; only logits leave it.
 */
export interface WhisperDecoder {
  /** Encodes features [melBins, 3000] for what follows. */
  hear(features: Float32Array): Promise<void>;
  /** Reads a prompt from nothing; `mark` is the position whose logits are wanted besides the last. */
  start(prompt: readonly number[], mark: number): Promise<PromptLogits>;
  /** Goes back to the end of the prompt. */
  rewind(): void;
  /** Reads one token more; logits over the vocabulary. */
  step(token: number): Promise<Float32Array>;
  /** Attention of each layer while all of `ids` are read; leaves caches alone. */
  attend(ids: readonly number[]): Promise<CrossAttention[]>;
  close(): void;
}

const PAST = "past_key_values.";
const PRESENT = "present.";

export function createWhisperDecoder(model: WhisperModel): WhisperDecoder {
  const { thread, promptRole, stepRole, settings } = model;
  // `0.decoder.key` and so on: what the step graph wants of the past.
  const caches = pastInputs(thread.info[stepRole]).map(({ name }) => name.slice(PAST.length));
  const own = caches.filter((cache) => !cache.includes(".encoder."));
  const emptyPasts = emptyPastsOf(model);
  const states = new KeptValues();
  /** After the prompt, and after the tokens that were read since. */
  const [started, stepped] = [new KeptValues(), new KeptValues()];
  const feedsOf = (ids: readonly number[], isStep: boolean): Feeds => ({
    ...states.values,
    input_ids: int64Of(ids, [1, ids.length]),
    use_cache_branch: bool([isStep], [1]),
  });
  const pastOf = (present: string) => PAST + present.slice(PRESENT.length);
  const keepOf = (names: readonly string[]) => names.map((cache) => PRESENT + cache);
  return {
    async hear(features) {
      const input = float32(features, [1, settings.melBins, features.length / settings.melBins]);
      const keep = [thread.info["encoder"]?.outputs[0]?.name ?? "last_hidden_state"];
      const { values } = await thread.step("encoder", { input_features: input }, { keep });
      states.put(values, () => "encoder_hidden_states");
    },
    async start(prompt, mark) {
      stepped.close();
      const feeds = { ...emptyPasts, ...feedsOf(prompt, false) };
      const targets = { keep: keepOf(caches), fetch: ["logits"] };
      const { tensors, values } = await thread.step(promptRole, feeds, targets);
      started.put(values, pastOf);
      return promptLogits(floatsOf(tensors, "logits"), prompt.length, mark);
    },
    rewind: () => stepped.close(),
    async step(token) {
      const feeds = { ...started.values, ...stepped.values, ...feedsOf([token], true) };
      const targets = { keep: keepOf(own), fetch: ["logits"] };
      const { tensors, values } = await thread.step(stepRole, feeds, targets);
      stepped.put(values, pastOf);
      return floatsOf(tensors, "logits");
    },
    async attend(ids) {
      const fetch = [...model.crossAttentions];
      const feeds = { ...emptyPasts, ...feedsOf(ids, false) };
      return readAttentions(await thread.run(promptRole, feeds, { fetch }), fetch);
    },
    close() {
      for (const kept of [states, started, stepped]) kept.close();
    },
  };
}

/** Two rows of the logits [tokens, vocabulary]. */
function promptLogits(logits: Float32Array, tokens: number, mark: number): PromptLogits {
  const width = logits.length / tokens;
  const row = (at: number) => logits.slice(at * width, (at + 1) * width);
  return { atMark: row(mark), last: row(tokens - 1) };
}

function readAttentions(outputs: Tensors, names: readonly string[]): CrossAttention[] {
  return names.map((name) => {
    const [, heads = 1, , frames = 1] = outputs[name]?.dims ?? [];
    return { weights: floatsOf(outputs, name), heads, frames };
  });
}

function emptyPastsOf({ thread, promptRole, settings }: WhisperModel): Record<string, Feed> {
  const inputs = pastInputs(thread.info[promptRole]);
  return Object.fromEntries(inputs.map((input) => [input.name, emptyPast(input, settings)]));
}

function pastInputs(graph: GraphInfo | undefined): TensorInfo[] {
  return (graph?.inputs ?? []).filter(({ name }) => name.startsWith(PAST));
}

/** A cache of no tokens [1, heads, 0, headSize]. */
function emptyPast({ dims }: TensorInfo, { heads, headSize }: WhisperModel["settings"]): Feed {
  const sized = (dim: number | string | undefined, size: number) =>
    typeof dim === "number" && dim > 0 ? dim : size;
  const shape = [1, sized(dims[1], heads), 0, sized(dims[3], headSize)];
  return float32(new Float32Array(0), shape);
}
