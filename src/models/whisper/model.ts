import { type ModelPackage, openModelGraphs } from "../../runtime/packages/model-package.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import type { PipelineSetup } from "../../core/modality.js";
import { loadModelTokenizer, type TextTokenizer } from "../tokenizer/text-tokenizer.js";
import { decoderRoles } from "../speech-recognition/cached-decoder.js";
import { readWhisperSettings, type WhisperSettings } from "./settings.js";

/** An opened Whisper package: encoder, decoder (merged or as a pair), tokenizer and settings. */
export interface WhisperModel {
  readonly settings: WhisperSettings;
  readonly tokenizer: TextTokenizer;
  readonly thread: Graphs;
  /** Role of the graph that reads a prompt, and of the one that reads one token more. */
  readonly promptRole: string;
  readonly stepRole: string;
  /** Outputs that tell where the decoder looked, by layer; empty where the export left them out. */
  readonly crossAttentions: readonly string[];
  close(): Promise<void>;
}

/** Throws an error that names what the package lacks. */
export async function openWhisperModel(
  model: ModelPackage,
  setup: Pick<PipelineSetup, "threads" | "onRun">,
): Promise<WhisperModel> {
  const { promptRole, stepRole } = decoderRoles(model.files);
  const roles = [...new Set(["encoder", promptRole, stepRole])];
  const tokenizer = await loadModelTokenizer(model);
  const settings = await readWhisperSettings(model, tokenizer);
  const thread = await openModelGraphs(model, roles, setup);
  const outputs = thread.info[promptRole]?.outputs ?? [];
  const crossAttentions = Array.from(
    { length: settings.layers },
    (_, layer) => `cross_attentions.${layer}`,
  ).filter((name) => outputs.some((output) => output.name === name));
  return {
    settings,
    tokenizer,
    thread,
    promptRole,
    stepRole,
    crossAttentions,
    close: () => thread.close(),
  };
}

/** The text of ids, without steering tokens and times. */
export function whisperText(
  { settings, tokenizer }: Pick<WhisperModel, "settings" | "tokenizer">,
  ids: readonly number[],
): string {
  const said = ids.filter((id) => id < settings.tokens.endOfText);
  return tokenizer.bytes?.decode(said) ?? tokenizer.decode(said);
}
