import type { PipelineSetup } from "../../core/modality.js";
import {
  type BatchRunner,
  type BatchRunnerOptions,
  createBatchRunner,
  type Sized,
} from "../../runtime/batching/batch-runner.js";
import { openGraphsSoon, type Graphs } from "../../runtime/ort/graphs.js";
import {
  graphsSetup,
  type ModelPackage,
  threadsFor,
} from "../../runtime/packages/model-package.js";
import {
  elementCount,
  type GraphInfo,
  type Tensor,
  type TensorInfo,
  type Tensors,
} from "../../runtime/tensors/tensor.js";
import {
  openSequenceTokenizer,
  type SequenceTokenizer,
  type TokenSequence,
} from "../tokenizer/sequence-tokenizer.js";
import {
  type EncoderConfig,
  maxPaddedTokens,
  readEncoderConfig,
  readMaxTokens,
} from "./settings.js";
import { createTokenGraph, type TokenBatch } from "./token-graph.js";

/** What an encoder is opened with: threads, and a callback for its runs. */
export type EncoderSetup = Pick<PipelineSetup, "threads" | "onRun">;

/** A graph over tokens with its tokenizer; requests of many jobs share its batches. */
export interface OpenEncoder {
  readonly config: EncoderConfig;
  readonly tokens: SequenceTokenizer;
  /** Most tokens of a row, special ones included. */
  readonly maxTokens: number;
  /** Rows for the sequences, in their order. */
  readonly run: BatchRunner<TokenSequence>["run"];
  close(): Promise<void>;
}

/** Which output is read, and how the rows of a batch come out of it. */
export interface RowReader {
  readonly output: string;
  readRows(tensor: Tensor, batch: TokenBatch, sequences: readonly TokenSequence[]): Float32Array[];
}

const ROLE = "encoder";

/** Opens the roles `encoder`, `config` and `tokenizer` of a package. */
export async function openEncoder(
  model: ModelPackage,
  { threads, onRun }: EncoderSetup,
  chooseReader: (info: GraphInfo) => RowReader,
): Promise<OpenEncoder> {
  const each = threadsFor(model, ROLE, threads);
  const lanes = Math.floor(threads / each);
  const setup = { ...graphsSetup(model, [ROLE]), threads: each, plans: true };
  // The graph opens in its threads while the tokenizer is read here.
  const opening = openGraphsSoon(setup, onRun);
  opening.catch(() => {});
  const reading = Promise.all([readEncoderConfig(model), openSequenceTokenizer(model)]);
  reading.catch(() => {});
  const session = await opening;
  try {
    const [config, tokens] = await reading;
    return await createEncoder({ model, config, tokens, session, lanes, chooseReader });
  } catch (thrown) {
    await session.close();
    throw thrown;
  }
}

async function createEncoder(parts: {
  readonly model: ModelPackage;
  readonly config: EncoderConfig;
  readonly tokens: SequenceTokenizer;
  readonly session: Pick<Graphs, "info" | "run" | "close">;
  readonly lanes: number;
  readonly chooseReader: (info: GraphInfo) => RowReader;
}): Promise<OpenEncoder> {
  const { model, config, tokens, session, lanes, chooseReader } = parts;
  const info = session.info[ROLE] ?? { inputs: [], outputs: [] };
  const padId = config.pad_token_id ?? tokens.padId;
  const graph = createTokenGraph(info, { role: ROLE, padId, maxPadded: maxPaddedTokens(model) });
  const reader = chooseReader(info);
  const graphLength = graph.maxLength;
  const maxTokens = await readMaxTokens(model, {
    config,
    tokenizer: tokens.tokenizer,
    graphLength,
  });
  const pack = (sequences: readonly TokenSequence[], length?: number) => {
    const batch = graph.pack(sequences, length);
    const readRows = (tensor: Tensor) => reader.readRows(tensor, batch, sequences);
    return [batch.feeds, readRows] as const;
  };
  const readRow = async (sequence: TokenSequence, length: number) => {
    const [feeds, readRows] = pack([sequence], length);
    const { [reader.output]: tensor } = await session.run(ROLE, feeds, { fetch: [reader.output] });
    return tensor === undefined ? undefined : readRows(tensor)[0];
  };
  let mixesLengths = false;
  const limits = {
    ...graph.limits,
    get equalLengths() {
      return !mixesLengths;
    },
  };
  const options = { role: ROLE, limits, lanes, output: reader.output };
  const runner = createGraphRunner<TokenSequence>(session, { ...options, pack });
  const probe = async () => {
    mixesLengths = !graph.limits.equalLengths && (await ignoresPadding(tokens, maxTokens, readRow));
  };
  let probing: Promise<void> | undefined;
  return {
    config,
    tokens,
    maxTokens,
    async run(...given) {
      const rows = await runner.run(...given);
      // Neither the start nor the first answer waits for two runs more; a graph that fails them keeps its lengths apart.
      probing ??= probe().catch(() => {});
      return rows;
    },
    async close() {
      await probing;
      await runner.close();
    },
  };
}

/** Relative difference; dynamically quantised graphs have 0.001 to 0.02 by rounding alone. */
const PADDING_TOLERANCE = 0.03;

/**
 * Whether padding leaves a row as it is. Convolutions over tokens (ConvBERT, MobileBERT) and landmarks
 * of the whole length (Nystromformer) read it, whatever the mask says.
 */
async function ignoresPadding(
  { contentOf, template }: SequenceTokenizer,
  maxTokens: number,
  readRow: (sequence: TokenSequence, length: number) => Promise<Float32Array | undefined>,
): Promise<boolean> {
  const sequence = template.single(contentOf("one two"));
  const alone = await readRow(sequence, sequence.length);
  const padded = await readRow(sequence, Math.min(maxTokens, sequence.length + 5));
  if (alone === undefined || padded === undefined) return true;
  const apart = alone.map((value, at) => value - (padded[at] ?? 0));
  return Math.hypot(...apart) <= PADDING_TOLERANCE * Math.hypot(...alone);
}

interface GraphRunnerOptions<Item> extends Pick<BatchRunnerOptions<Item>, "limits" | "lanes"> {
  readonly role: string;
  /** The one that is read. */
  readonly output: string;
  /** Feeds of a batch, and how its rows come out of the output; one row an item by default. */
  readonly pack: (
    items: readonly Item[],
  ) => readonly [Tensors, ((output: Tensor) => Float32Array[])?];
}

/** Rows of one graph for the items of many jobs; `close` ends both. */
export function createGraphRunner<Item extends Sized>(
  session: Pick<Graphs, "run" | "close">,
  { role, output, pack, ...options }: GraphRunnerOptions<Item>,
) {
  const runner = createBatchRunner<Item>({
    ...options,
    async runBatch(items) {
      const [feeds, readRows = (tensor) => items.map((_, row) => rowOf(tensor, row))] = pack(items);
      const { [output]: tensor } = await session.run(role, feeds, { fetch: [output] });
      if (tensor === undefined) throw new Error(`the graph ${role} returned no ${output}`);
      return readRows(tensor);
    },
  });
  const close = async () => {
    runner.close();
    await session.close();
  };
  return { run: runner.run, close };
}

/** The output that the first of these names has, or the only one of this rank; undefined where none fits. */
export function findOutput(
  { outputs }: GraphInfo,
  names: readonly string[],
  rank: number,
): TensorInfo | undefined {
  const named = names
    .map((name) => outputs.find((output) => output.name === name))
    .find((output) => output !== undefined);
  const ofRank = outputs.filter(({ dims }) => dims.length === rank);
  return named ?? (ofRank.length === 1 ? ofRank[0] : undefined);
}

/** Row `index` of a tensor [rows, width]. */
export function rowOf({ data, dims }: Tensor, index: number): Float32Array {
  if (!(data instanceof Float32Array))
    throw new TypeError("an encoder's output must be of a float type");
  const width = elementCount(dims.slice(1));
  return data.slice(index * width, (index + 1) * width);
}

/** A sequence classifier: one row of logits a sequence. */
export interface TextClassifier extends OpenEncoder {
  /** Names of the logits in order, as config.json has them. */
  readonly labels: readonly string[];
}

/** Opens a package of pipeline `encoder` whose graph ends in logits [rows, labels]. */
export async function openTextClassifier(
  model: ModelPackage,
  setup: EncoderSetup,
): Promise<TextClassifier> {
  const encoder = await openEncoder(model, setup, (info) => {
    const logits = findOutput(info, ["logits"], 2);
    if (logits === undefined) {
      const has = info.outputs.map(({ name }) => name).join(", ");
      throw new Error(`${model.path}: the graph encoder must have the output logits, has ${has}`);
    }
    return {
      output: logits.name,
      readRows: (tensor, _batch, sequences) => sequences.map((_, row) => rowOf(tensor, row)),
    };
  });
  return { ...encoder, labels: labelsOf(encoder.config.id2label ?? {}) };
}

/** Labels in the order of their numbers. */
export function labelsOf(id2label: Readonly<Record<string, string>>): string[] {
  return Object.entries(id2label)
    .toSorted(([a], [b]) => Number(a) - Number(b))
    .map(([, label]) => label);
}
