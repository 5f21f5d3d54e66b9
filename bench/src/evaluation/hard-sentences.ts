import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { splitSentences } from "../../../src/modalities/speech/pieces.js";
import { openModel } from "../../../src/models/registry.js";
import type { SpeechModel, Utterance } from "../../../src/models/speech/speech-model.js";
import { readMessage, withProtobufFile } from "../../../src/runtime/onnx/protobuf-file.js";
import { bytesField } from "../../../src/runtime/onnx/protobuf-write.js";
import { openGraphs } from "../../../src/runtime/ort/graphs.js";
import { graphPaths, loadModelPackage } from "../../../src/runtime/packages/model-package.js";
import { float32, int64Of, type Tensors } from "../../../src/runtime/tensors/tensor.js";
import { withTemporaryFolder } from "../temporary-folder.js";
import { type EvaluationContext, mean, readCases } from "./evaluator.js";
import { wordErrors } from "./words.js";

const hardSentence = z.object({
  text: z.string(),
  /** How it is rightly read, in words. */
  say: z.array(z.string()).min(1),
  /** How it is wrongly read. */
  wrong: z.array(z.string()),
});
const phoneTable = z.object({
  /** The weights that the graph looks its phones up in: what they are looked up by are the phones. */
  weights: z.string(),
  /** Names of the phones by id; those that are empty are silent. */
  phones: z.array(z.string()),
});

type HardSentence = z.infer<typeof hardSentence>;
type PhoneTable = z.infer<typeof phoneTable>;

/** Phones that may differ, as a share of those of the words. */
const MOST_DIFFERENT = 0.05;

/** Share of hard sentences that the package's voice reads as their right words, phone by phone. */
export async function measureHardSentences(context: EvaluationContext): Promise<number> {
  const { folder, limit } = context;
  const sentences = await readCases([folder, "hard-sentences.jsonl"], hardSentence, limit);
  const table = phoneTable.parse(JSON.parse(await readFile(join(folder, "phones.json"), "utf8")));
  return await withTemporaryFolder(async (scratch) => {
    const reader = await openPhoneReader(context, table, join(scratch, "phones.onnx"));
    try {
      const read: number[] = [];
      for (const one of sentences) read.push((await isReadRight(one, reader.read)) ? 1 : 0);
      return mean(read);
    } finally {
      await reader.close();
    }
  });
}

/** Phones of a text, apart by spaces. */
type ReadPhones = (text: string) => Promise<string>;

/**
 * Whether a sentence has the phones of one of its right readings, but for one in twenty, and is nearer to
 * it than to every wrong one. @public its unit test asks, too
 */
export async function isReadRight(
  { text, say, wrong }: HardSentence,
  read: ReadPhones,
): Promise<boolean> {
  const own = await read(text);
  const distances = async (readings: readonly string[]) => {
    const phones = await Promise.all(readings.map(read));
    return phones.map((one) => wordErrors(one, own) / Math.max(1, countOf(one)));
  };
  const nearest = Math.min(...(await distances(say)));
  const nearestWrong = Math.min(...(await distances(wrong)));
  return countOf(own) > 0 && nearest <= MOST_DIFFERENT && nearest < nearestWrong;
}

function countOf(phones: string): number {
  return phones.split(" ").filter((one) => one !== "").length;
}

/** What a voice reads of texts: its graph with one more output, the phones that it speaks. */
async function openPhoneReader(
  { folder, signal, ffmpegPath, ffprobePath }: EvaluationContext,
  table: PhoneTable,
  scratchPath: string,
): Promise<{ readonly read: ReadPhones; close(): Promise<void> }> {
  const modelPath = dirname(folder);
  const model = await loadModelPackage(modelPath);
  const { [VOICE]: path = "" } = graphPaths(model, [VOICE]);
  const phones = findPhones(path, table.weights);
  await writeFile(scratchPath, withOutput(await readFile(path), phones));
  const setup = { modelPath, threads: 1, ffmpegPath, ffprobePath, espeakPath: "espeak-ng" };
  const speaker = await openModel("speech", model, setup);
  const graphs = await openGraphs({
    graphs: { [VOICE]: scratchPath },
    threads: 1,
    providers: ["cpu"],
  });
  return {
    async read(text) {
      const names: string[] = [];
      for (const utterance of await utterancesOf(text, speaker, signal)) {
        const outputs = await graphs.run(VOICE, feedsOf(utterance.ids), { fetch: [phones] });
        const ids = Array.from(outputs[phones]?.data ?? [], Number);
        names.push(...ids.map((id) => table.phones[id] ?? ""));
      }
      return names.filter((name) => name !== "").join(" ");
    },
    async close() {
      await graphs.close();
      await speaker.close();
    },
  };
}

/** Role of a voice's graph. */
const VOICE = "model";

/** Name of the tensor by which a graph looks up rows of `weights`. */
function findPhones(path: string, weights: string): string {
  let found: string | undefined;
  withProtobufFile(path, (cursor) => {
    const node = (end: number) => {
      const inputs: string[] = [];
      readMessage(cursor, end, { 1: (to) => inputs.push(cursor.text(to)) });
      if (inputs[0] === weights) found ??= inputs[1];
    };
    readMessage(cursor, cursor.size, { 7: (end) => readMessage(cursor, end, { 1: node }) });
  });
  if (found === undefined) throw new Error(`${path} looks nothing up in ${weights}`);
  return found;
}

/** A second graph field: protobuf adds its output to those of the first. */
function withOutput(graph: Buffer, name: string): Buffer {
  return Buffer.concat([graph, bytesField(7, bytesField(12, bytesField(1, name)))]);
}

/** As the service cuts and spells a text. */
async function utterancesOf(
  text: string,
  speaker: SpeechModel,
  signal: AbortSignal,
): Promise<Utterance[]> {
  const [voice = ""] = speaker.voices;
  const pieces = splitSentences(text, "en").map((piece) =>
    speaker.prepare({ text: piece.text, voice, language: null, signal }),
  );
  return (await Promise.all(pieces)).flat();
}

/** Inputs of a Piper voice at its own pace; no voice reads otherwise than the first. */
function feedsOf(ids: readonly number[]): Tensors {
  return {
    input: int64Of(ids, [1, ids.length]),
    input_lengths: int64Of([ids.length], [1]),
    scales: float32(Float32Array.of(1, 1, 1), [3]),
    sid: int64Of([0], [1]),
  };
}
