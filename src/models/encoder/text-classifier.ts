import type { ModelPackage } from "../../runtime/packages/model-package.js";
import { type EncoderSetup, findOutput, type OpenEncoder, openEncoder, rowOf } from "./open.js";

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
