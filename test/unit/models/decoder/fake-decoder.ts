import { Value } from "#framemill/runtime/ort/value.js";
import { type PromptQueueSetup, TextBatch } from "#framemill/models/decoder/batch/index.js";
import type { Decoder, DecoderInput } from "#framemill/models/decoder/decoder.js";
import type { CacheTensor, DecoderLayout } from "#framemill/models/decoder/decoder-layout.js";
import { createGeneration } from "#framemill/models/decoder/generation.js";
import type { Alignment, StepItem, TextJob } from "#framemill/models/decoder/request/request.js";
import { TokenSampler } from "#framemill/models/sampling/token-sampler.js";
import { byteCharacters } from "#framemill/models/tokenizer/token-bytes.js";
import type { Tensor, TensorData } from "#framemill/runtime/tensors/tensor.js";
import { createTextTokenizer } from "#framemill/models/tokenizer/text-tokenizer.js";
import { GREEDY_JOB } from "../../../support/write-text.js";

/** Ids are bytes; 0 is special and ends an answer. */
export const tokenizer = createTextTokenizer({
  added_tokens: [{ id: 0, content: "<end>", special: true }],
  decoder: { type: "ByteLevel" },
  model: {
    type: "BPE",
    vocab: Object.fromEntries(byteCharacters().map((token, id) => [token, id])),
    merges: [],
  },
});
const VOCABULARY = 256;

const CACHE: CacheTensor = {
  past: "past",
  present: "present",
  type: "float32",
  dims: ["batch", 2, "length", 1],
  batchAxis: 0,
  lengthAxis: 2,
  sharesBuffer: false,
};

const LAYOUT: DecoderLayout = {
  inputIds: { name: "ids", type: "int64", rank: 2 },
  attentionMask: undefined,
  positionIds: undefined,
  tokenTypes: undefined,
  logitsToKeep: undefined,
  useCacheBranch: undefined,
  logits: { name: "logits", type: "float32", rank: 2 },
  vocabSize: VOCABULARY,
  caches: [CACHE],
};

/** Token whose reading makes the logits NaN. */
export const POISON = 255;

/** A decoder whose next token depends on every token in its memory and on their order. */
function createFakeDecoder(onRun: (width: number) => void) {
  const runs: { readonly rows: number; readonly width: number }[] = [];
  const forward: Decoder["forward"] = async (input) => {
    const { cache, width } = input;
    const rows = cache.lengths.length;
    runs.push({ rows, width });
    onRun(width);
    const [layer] = cache.layers;
    if (layer === undefined) throw new Error("the cache has no layer");
    const { data } = layer.past.read();
    const histories = cache.lengths.map((_, row) => readHistory(data, input, row));
    layer.past.close();
    const logits = new Float32Array(rows * VOCABULARY);
    for (const [row, history] of histories.entries()) {
      const next = history.reduce((hash, token) => (hash * 31 + token + 7) % 251, 1);
      logits[row * VOCABULARY + 33 + (next % 90)] = 5;
      if (history.includes(POISON))
        logits.fill(Number.NaN, row * VOCABULARY).fill(0, (row + 1) * VOCABULARY);
    }
    const lengths = cache.lengths.map((one) => one + width);
    const layers = [{ past: Value.of(writeHistories(input, histories)) }];
    return {
      cache: { lengths, span: cache.span + width, layers },
      logits: input.wantsLogits ? logits : new Float32Array(0),
      vocabSize: VOCABULARY,
    };
  };
  const decoder: Decoder = { layout: LAYOUT, forward };
  return { decoder, runs };
}

/** What a row has in memory, then what is fed to it. */
function readHistory(data: TensorData, input: DecoderInput, row: number): number[] {
  const { cache, alignment, tokens, width } = input;
  const length = cache.lengths[row] ?? 0;
  // The second of two heads, so that strides matter.
  const start = (row * 2 + 1) * cache.span + (alignment === "start" ? 0 : cache.span - length);
  const past = Array.from({ length }, (_, index) => Number(data[start + index]));
  return [
    ...past,
    ...Array.from({ length: width }, (_, index) => tokens[row * width + index] ?? 0),
  ];
}

function writeHistories(input: DecoderInput, histories: readonly number[][]): Tensor {
  const span = input.cache.span + input.width;
  const data = new Float32Array(histories.length * 2 * span).fill(-1);
  for (const [row, history] of histories.entries()) {
    const skip = input.alignment === "start" ? 0 : span - history.length;
    for (const head of [0, 1])
      data.set(
        history.map((token) => (head === 1 ? token : -token)),
        (row * 2 + head) * span + skip,
      );
  }
  const dims = [histories.length, 2, span, 1];
  return { type: "float32", data, dims };
}

const JOB: TextJob = { ...GREEDY_JOB, addSpecialTokens: false, maxTokens: 8, seed: 1 };

export function createFakeBatch(
  alignment: Alignment,
  setup: Partial<PromptQueueSetup> = {},
  onRun: (width: number) => void = () => {},
) {
  const { decoder, runs } = createFakeDecoder(onRun);
  const batch = new TextBatch({
    decoder,
    abilities: { alignment, readsInParts: true },
    maxRows: 32,
    maxCacheBytes: 2 ** 30,
    ...setup,
  });
  const config = {
    stopTokenIds: [0],
    contextTokens: 4_096,
    repetitionPenalty: 1,
    firstPosition: 0,
    names: { inputs: {}, outputs: {} },
  } as const;
  const sampler = new TokenSampler(VOCABULARY);
  const loadMasks = () => Promise.reject(new Error("no grammars here"));
  return {
    batch,
    runs,
    async add(id: number, job: Partial<TextJob>) {
      const tools = { tokenizer, config, sampler, loadMasks };
      batch.add(await createGeneration(id, { ...JOB, ...job }, tools));
    },
  };
}

/** Tokens and ends by request and choice, e.g. `3.0`. */
export function createReader() {
  const tokens: Record<string, number[]> = {};
  const ended = new Map<number, string>();
  const cachedTokens = new Map<number, number>();
  return {
    cachedTokens,
    tokens,
    ended,
    read(items: readonly StepItem[]) {
      for (const item of items) {
        if ("failure" in item) ended.set(item.id, item.failure.code);
        else
          for (const event of item.events) {
            if (event.type === "end") {
              ended.set(item.id, "end");
              cachedTokens.set(item.id, event.usage.cachedTokens);
            } else (tokens[`${item.id}.${event.choice}`] ??= []).push(...event.tokenIds);
          }
      }
    },
  };
}
