import type { Graphs } from "../../runtime/ort/graphs.js";
import { int64Of, type Tensor } from "../../runtime/tensors/tensor.js";
import type { TextTokenizer } from "../tokenizer/text-tokenizer.js";
import type { PromptStates } from "./denoiser.js";

export type EncodePrompt = (text: string) => Promise<PromptStates>;

const [PICTURE, SOUND] = ["video_states", "audio_states"] as const;

/**
 * Gemma's states of all layers, then the connectors, which fill a prompt up with registers: no padding
 * comes into it. Throws an error where the connectors do not say how many tokens they fill up to.
 */
export function createPromptEncoder(sessions: Graphs, tokenizer: TextTokenizer): EncodePrompt {
  const declared = sessions.info["connectors"]?.outputs.find(({ name }) => name === PICTURE);
  const maxTokens = declared?.dims[1];
  if (typeof maxTokens !== "number")
    throw new Error(`the graph connectors must state the tokens of its output ${PICTURE}`);
  return async (text) => {
    const { ids } = tokenizer.encode(text.trim(), { maxTokens });
    const feeds = { input_ids: int64Of(ids, [1, ids.length]) };
    const states = await sessions.run("text-encoder", feeds);
    const outputs = await sessions.run("connectors", states);
    return { picture: get(outputs[PICTURE], PICTURE), sound: get(outputs[SOUND], SOUND) };
  };
}

function get(states: Tensor | undefined, name: string): Tensor {
  if (states === undefined) throw new TypeError(`the graph connectors has no output ${name}`);
  return states;
}
