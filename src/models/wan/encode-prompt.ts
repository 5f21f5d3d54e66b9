import { findOutput } from "../diffusion/graph-ports.js";
import { promptTokens } from "../diffusion/prompt-encoders.js";
import type { SessionThread } from "../../runtime/ort/session.js";
import { floatsOf, int64Of } from "../../runtime/tensors/tensor.js";
import type { TextTokenizer } from "../tokenizer/text-tokenizer.js";

/** States of a prompt [tokens, features], float32: zeros after its end. */
export type EncodePrompt = (text: string) => Promise<PromptStates>;

export interface PromptStates {
  readonly values: Float32Array;
  readonly tokens: number;
}

/** UMT5 as Wan was trained with it: the padding is masked, and nothing is left of it in the states. */
export function createPromptEncoder(
  sessions: SessionThread,
  tokenizer: TextTokenizer,
  tokens: number,
): EncodePrompt {
  const graph = sessions.info["text-encoder"] ?? { inputs: [], outputs: [] };
  const output = findOutput(graph, ["last_hidden_state", "text_embeddings"]);
  return async (text) => {
    const plain = text.replaceAll(/\s+/g, " ").trim();
    const { ids, used } = promptTokens(tokenizer, plain, tokens);
    const feeds = {
      input_ids: int64Of(ids, [1, tokens]),
      attention_mask: int64Of(
        ids.map((_, at) => (at < used ? 1 : 0)),
        [1, tokens],
      ),
    };
    const states = floatsOf(await sessions.run("text-encoder", feeds, { fetch: [output] }), output);
    const features = states.length / tokens;
    return { values: states.fill(0, used * features), tokens };
  };
}
