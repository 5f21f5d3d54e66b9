import type { Graphs } from "../../runtime/ort/graphs.js";
import { float32, floatsOf, int64Of, type Tensor } from "../../runtime/tensors/tensor.js";
import { type CtcToken, likeliest } from "../speech-recognition/ctc-tokens.js";

/** Role of the graph that predicts from the tokens so far and joins that with a frame. */
export const JOINT = "decoder-joint";

/** Tokens that one frame may hold, where none of them says how long it lasts (NeMo, max_symbols). */
const MAX_TOKENS_A_FRAME = 10;

/** What the encoder heard, [width, steps] of which `frames` count. */
export interface EncodedSound {
  readonly states: Float32Array;
  readonly width: number;
  readonly steps: number;
  readonly frames: number;
}

/**
 * The likeliest tokens of a transducer, frame by frame. Behind the scores of the tokens stand those of how
 * many frames each lasts (TDT, Xu et al. 2023); without them each blank lasts one (RNN-T, Graves 2012).
 */
export async function readTransducer(
  graphs: Graphs,
  sound: EncodedSound,
  options: { readonly blank: number; readonly vocabulary: number; readonly signal: AbortSignal },
): Promise<CtcToken[]> {
  const { blank, vocabulary, signal } = options;
  const found: CtcToken[] = [];
  let states = startStates(graphs);
  let [frame, here] = [0, 0];
  while (frame < sound.frames) {
    signal.throwIfAborted();
    const feeds = {
      encoder_outputs: float32(column(sound, frame), [1, sound.width, 1]),
      targets: int64Of([found.at(-1)?.id ?? blank], [1, 1]),
      target_length: int64Of([1], [1]),
      ...states,
    };
    const outputs = await graphs.run(JOINT, feeds, { fetch: OUTPUTS });
    const scores = floatsOf(outputs, "outputs");
    const { id, logprob } = likeliest(scores.subarray(0, vocabulary));
    const duration = scores.length > vocabulary ? likeliest(scores.subarray(vocabulary)).id : 0;
    if (id !== blank) {
      found.push({ id, first: frame, end: frame + Math.max(1, duration), logprob });
      states = nextStates(outputs);
      here += 1;
    }
    const rests = duration === 0 && id !== blank && here < MAX_TOKENS_A_FRAME;
    if (rests) continue;
    frame += Math.max(1, duration);
    here = 0;
  }
  return found;
}

const OUTPUTS = ["outputs", "output_states_1", "output_states_2"];

type States = Readonly<Record<string, Tensor>>;

/** Nothing was said: [layers, 1, width] of zeros. */
function startStates(graphs: Graphs): States {
  const inputs = graphs.info[JOINT]?.inputs.filter(({ name }) => name.startsWith("input_states_"));
  const zeros = (inputs ?? []).map(({ name, dims }) => {
    const [layers, , width] = dims.map(Number);
    const shape = [layers ?? 1, 1, width ?? 1];
    return [name, float32(new Float32Array((layers ?? 1) * (width ?? 1)), shape)] as const;
  });
  return Object.fromEntries(zeros);
}

function nextStates(outputs: Readonly<Record<string, Tensor>>): States {
  const kept = Object.entries(outputs).filter(([name]) => name.startsWith("output_states_"));
  return Object.fromEntries(kept.map(([name, state]) => [name.replace("output", "input"), state]));
}

function column({ states, width, steps }: EncodedSound, at: number): Float32Array {
  return Float32Array.from({ length: width }, (_, row) => states[row * steps + at] ?? 0);
}
