import type {
  AnswerPart,
  GenerationChoice,
  GenerationDelta,
  GenerationEnd,
} from "../../models/decoder/request/generation-request.js";
import type { ChosenLogprob, TextEvent } from "../../models/decoder/request/request.js";
import {
  createToolCallReader,
  type ToolCallReaderOptions,
} from "../../models/decoder/tools/index.js";

type TextPiece = Extract<TextEvent, { type: "text" }>;

/** Puts one choice together, and says what each step added to it. */
export interface AnswerWriter {
  /** Undefined where the step made nothing that is certain yet. */
  add(piece: TextPiece): GenerationDelta | undefined;
  finish(): GenerationChoice;
}

export function createAnswerWriter(options: {
  readonly withLogprobs: boolean;
  /** How calls are read; undefined where none may be made. */
  readonly calls: ToolCallReaderOptions | undefined;
}): AnswerWriter {
  const reader = options.calls && createToolCallReader(options.calls);
  const parts: AnswerPart[] = [];
  const logprobs: ChosenLogprob[] = [];
  let untold: ChosenLogprob[] = [];
  let finishReason: GenerationEnd = "length";

  return {
    add(piece) {
      const added = read(piece, reader);
      for (const part of added) addPart(parts, part);
      logprobs.push(...(piece.logprobs ?? []));
      untold.push(...(piece.logprobs ?? []));
      if (piece.finishReason !== undefined)
        finishReason = endOf(piece.finishReason, reader?.callCount ?? 0);
      if (added.length === 0 && piece.finishReason === undefined) return undefined;
      const told = untold;
      untold = [];
      return {
        choice: piece.choice,
        parts: added,
        ...(options.withLogprobs && { logprobs: told }),
        ...(piece.finishReason !== undefined && { finishReason }),
      };
    },
    finish: () => ({ parts, finishReason, logprobs: options.withLogprobs ? logprobs : null }),
  };
}

function read(
  { text, finishReason }: TextPiece,
  reader: ReturnType<typeof createToolCallReader> | undefined,
): AnswerPart[] {
  if (reader === undefined) return text === "" ? [] : [{ type: "text", text }];
  const parts = reader.push(text);
  return finishReason === undefined ? parts : [...parts, ...reader.finish()];
}

/** An answer that stopped after its calls waits for their results. */
function endOf(reason: "stop" | "length", callCount: number): GenerationEnd {
  return reason === "stop" && callCount > 0 ? "tool_calls" : reason;
}

/** Texts that follow each other are one. */
function addPart(parts: AnswerPart[], part: AnswerPart): void {
  const last = parts.at(-1);
  if (part.type === "text" && last?.type === "text")
    parts[parts.length - 1] = { type: "text", text: last.text + part.text };
  else parts.push(part);
}
