import { float32, floatsOf, type Tensors } from "../../runtime/tensors/tensor.js";
import { type CachedDecoder, createCachedDecoder } from "../speech-recognition/cached-decoder.js";
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

/** Whisper's decoder over one window of sound at a time. */
export interface WhisperDecoder extends Pick<CachedDecoder, "rewind" | "step" | "close"> {
  /** Encodes features [melBins, 3000] for what follows. */
  hear(features: Float32Array): Promise<void>;
  /** Reads a prompt from nothing; `mark` is the position whose logits are wanted besides the last. */
  start(prompt: readonly number[], mark: number): Promise<PromptLogits>;
  /** Attention of each layer while all of `ids` are read; leaves caches alone. */
  attend(ids: readonly number[]): Promise<CrossAttention[]>;
}

export function createWhisperDecoder(model: WhisperModel): WhisperDecoder {
  const { melBins, heads, headSize } = model.settings;
  const decoder = createCachedDecoder({ ...model, heads, headSize });
  return {
    rewind: () => decoder.rewind(),
    step: (token) => decoder.step(token),
    close: () => decoder.close(),
    hear(features) {
      const input = float32(features, [1, melBins, features.length / melBins]);
      return decoder.encode({ input_features: input });
    },
    async start(prompt, mark) {
      return promptLogits(await decoder.start(prompt), prompt.length, mark);
    },
    async attend(ids) {
      const fetch = [...model.crossAttentions];
      return readAttentions(await decoder.look(ids, fetch), fetch);
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
