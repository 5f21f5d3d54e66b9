import { type ModelPackage, graphPaths } from "../../runtime/packages/model-package.js";
import { openSessions, type SessionThread } from "../../runtime/ort/session.js";
import type { GraphRun } from "../../core/modality.js";
import { loadTextTokenizer, type TextTokenizer } from "../tokenizer/text-tokenizer.js";
import { readWhisperSettings, type WhisperSettings } from "./settings.js";

/** An opened Whisper package: encoder, decoder (merged or as a pair), tokenizer and settings. */
export interface WhisperModel {
  readonly settings: WhisperSettings;
  readonly tokenizer: TextTokenizer;
  readonly thread: SessionThread;
  /** Role of the graph that reads a prompt, and of the one that reads one token more. */
  readonly promptRole: string;
  readonly stepRole: string;
  /** Outputs that tell where the decoder looked, by layer; empty where the export left them out. */
  readonly crossAttentions: readonly string[];
  close(): Promise<void>;
}

export interface OpenWhisper {
  readonly threads: number;
  readonly onRun?: (run: GraphRun) => void;
}

/** Throws a sentence that names what the package lacks. */
export async function openWhisperModel(
  model: ModelPackage,
  { threads, onRun }: OpenWhisper,
): Promise<WhisperModel> {
  const isMerged = model.files["decoder-merged"] !== undefined;
  const promptRole = isMerged ? "decoder-merged" : "decoder";
  const stepRole = isMerged ? "decoder-merged" : "decoder-with-past";
  const roles = [...new Set(["encoder", promptRole, stepRole])];
  const tokenizer = await loadTextTokenizer(tokenizerFiles(model));
  const settings = await readWhisperSettings(model, tokenizer);
  const { providers } = model.execution;
  const thread = await openSessions(
    { graphs: graphPaths(model, roles), threads, providers },
    onRun,
  );
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

function tokenizerFiles(model: ModelPackage): { tokenizer: string; config?: string } {
  const { tokenizer = "" } = graphPaths(model, ["tokenizer"]);
  if (model.files["tokenizer-config"] === undefined) return { tokenizer };
  const { "tokenizer-config": config = "" } = graphPaths(model, ["tokenizer-config"]);
  return { tokenizer, config };
}

/** The text of ids, without steering tokens and times. */
export function whisperText(
  { settings, tokenizer }: Pick<WhisperModel, "settings" | "tokenizer">,
  ids: readonly number[],
): string {
  const said = ids.filter((id) => id < settings.tokens.endOfText);
  return tokenizer.bytes?.decode(said) ?? tokenizer.decode(said);
}
