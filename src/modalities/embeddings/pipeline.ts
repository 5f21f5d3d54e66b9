import type { PipelineEvent } from "../../core/events.js";
import type { Pipeline, PipelineSetup } from "../../core/modality.js";
import { openModel } from "../../models/registry.js";
import { normalised } from "../../models/encoder/settings.js";
import type { TextEmbedder } from "../../models/encoder/text-embedder.js";
import type { TokenSequence } from "../../models/tokenizer/sequence-tokenizer.js";
import { yieldToEventLoop } from "../../runtime/batching/yield-to-event-loop.js";
import { loadModelPackage } from "../../runtime/packages/model-package.js";
import {
  checkTotal,
  type EmbeddingsOutput,
  type EmbeddingsRequest,
  tooManyTokens,
} from "./request.js";
import { invalidValue } from "../shared/request-body.js";
import { checkCharacters, checkVocabulary } from "../shared/text-inputs.js";

type Input = EmbeddingsRequest["inputs"][number];

/** Tokens of each input → one vector each, from batches shared with the jobs that run beside. */
export async function createEmbeddingsPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<EmbeddingsRequest, EmbeddingsOutput>> {
  const model = await loadModelPackage(setup.modelPath, setup);
  const embedder = await openModel("embeddings", model, setup);
  return {
    run: (request, { signal }) => embed(embedder, request, signal),
    close: () => embedder.close(),
  };
}

async function* embed(
  embedder: TextEmbedder,
  { inputs, dimensions, prompt = "" }: EmbeddingsRequest,
  signal: AbortSignal,
): AsyncGenerator<PipelineEvent<EmbeddingsOutput>> {
  const sequences = await tokenise(embedder, { inputs, prompt }, signal);
  const inputTokens = sequences.reduce((sum, { length }) => sum + length, 0);
  const rows = await embedder.embed(sequences, signal);
  const length = checkDimensions(dimensions, rows[0]?.length ?? 0);
  const vectors = joinRows(rows, length);
  yield { type: "output", output: { dimensions: length, vectors, inputTokens } };
}

interface Texts {
  readonly inputs: readonly Input[];
  /** Goes before each text. */
  readonly prompt: string;
}

async function tokenise(
  embedder: TextEmbedder,
  { inputs, prompt }: Texts,
  signal: AbortSignal,
): Promise<TokenSequence[]> {
  const sequences: TokenSequence[] = [];
  let total = 0;
  const pause = yieldToEventLoop(signal);
  for (const [index, input] of inputs.entries()) {
    await pause();
    const sequence = sequenceOf(embedder, input, { index, prompt });
    total += sequence.length;
    checkTotal(total);
    sequences.push(sequence);
  }
  return sequences;
}

function sequenceOf(
  embedder: TextEmbedder,
  input: Input,
  { index, prompt }: { readonly index: number; readonly prompt: string },
): TokenSequence {
  const { maxTokens: limit, vocabSize } = embedder;
  const place = { param: "input", index };
  if (typeof input === "string") checkCharacters(input, place, limit);
  checkVocabulary(input, place, vocabSize);
  const sequence =
    typeof input === "string"
      ? embedder.sequenceOfText(input, prompt)
      : embedder.sequenceOfIds(input);
  if (sequence.length > limit) throw tooManyTokens({ index, count: sequence.length, limit });
  return sequence;
}

function checkDimensions(asked: number | null, own: number): number {
  if (asked === null || asked <= own) return asked ?? own;
  const message = `dimensions must be at most ${own} for this model, got ${asked}`;
  throw invalidValue("dimensions", message);
}

/** Rows one after the other in base64, cut to so many dimensions (Matryoshka), each of length 1. */
function joinRows(rows: readonly Float32Array[], dimensions: number): string {
  const joined = new Float32Array(rows.length * dimensions);
  for (const [index, row] of rows.entries()) {
    joined.set(normalised(row.subarray(0, dimensions)), index * dimensions);
  }
  return Buffer.from(joined.buffer).toString("base64");
}
