import { z } from "zod";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import { parseSettings } from "../../runtime/packages/parse-settings.js";
import { MOST_CHARACTERS_PER_TOKEN } from "../../runtime/batching/yield-to-event-loop.js";
import type { TextTokenizer } from "../tokenizer/text-tokenizer.js";

/** The form in which Qwen3-Reranker was taught its question, as its card publishes it. */
export const QWEN3_RERANKER = "qwen3-reranker";

const HEAD = `<|im_start|>system
Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>
<|im_start|>user
`;
const TAIL = `<|im_end|>
<|im_start|>assistant
<think>

</think>

`;
const INSTRUCTION = "Given a web search query, retrieve relevant passages that answer the query";

const promptShapes = z.object({
  /** How texts are put to a model that was taught a form of its own. */
  promptForm: z.literal(QWEN3_RERANKER).optional(),
  /** What it is told to judge by. */
  instruction: z.string().min(1).optional(),
});

/** `shapes.promptForm` and `shapes.instruction` of model.json. */
export function readPromptShapes({ shapes, path }: ModelPackage) {
  return parseSettings(promptShapes, shapes, `${path}/model.json: shapes`);
}

/** A query and a document as the model reads them. */
interface PairPrompt {
  readonly ids: Int32Array;
  readonly queryTokens: number;
  readonly documentTokens: number;
}

interface PairPromptSetup {
  readonly tokenizer: TextTokenizer;
  /** Ids of a text without special tokens. */
  readonly contentOf: (text: string) => Int32Array;
  /** Most tokens of a prompt. */
  readonly maxTokens: number;
  readonly instruction?: string | undefined;
}

/**
 * Makes prompts for the documents of a query. A query has at most half of the room; what a document has beyond
 * the rest, or beyond the caller's limit, is cut off.
 */
export function createPairPrompts(setup: PairPromptSetup) {
  const { tokenizer, contentOf, maxTokens, instruction = INSTRUCTION } = setup;
  const structure = { addSpecialTokens: false, mark: NO_MARK };
  const head = tokenizer.encode(HEAD, structure).ids;
  const tail = tokenizer.encode(TAIL, structure).ids;
  const room = maxTokens - head.length - tail.length;
  const most = maxTokens * MOST_CHARACTERS_PER_TOKEN;
  return (query: string, maxTokensPerDocument: number) => {
    const whole = contentOf(query.slice(0, most));
    const question = whole.subarray(0, room >> 1);
    const said = question.length < whole.length ? tokenizer.decode([...question]) : query;
    const asked = `<Instruct>: ${instruction}\n<Query>: ${said}\n<Document>:`;
    const before = contentOf(asked).length;
    return (document: string): PairPrompt => {
      const content = contentOf(`${asked} ${document.slice(0, most)}`);
      const read = content.subarray(0, Math.min(room, before + maxTokensPerDocument));
      const ids = Int32Array.from([...head, ...read, ...tail]);
      const documentTokens = Math.max(0, read.length - before);
      return { ids, queryTokens: question.length, documentTokens };
    };
  };
}

/** Nothing of the texts above is a caller's, whose tokens of structure a mark would break up. */
const NO_MARK = "\u{E000}";
