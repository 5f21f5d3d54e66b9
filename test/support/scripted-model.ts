import type { ModelInfo, Pipeline } from "#framemill/core/modality.js";
import { createChatPipeline } from "#framemill/modalities/chat/pipeline.js";
import { chat } from "#framemill/modalities/chat/index.js";
import { responses } from "#framemill/modalities/responses/index.js";
import { addModel } from "#framemill/models/add-model.js";
import { createTextTokenizer } from "#framemill/models/tokenizer/text-tokenizer.js";
import OpenAI from "openai";
import { byteTokenizerJson } from "./byte-tokenizer.js";
import { createModelFolders } from "./model-folders.js";
import { serveModalities, type ServedModality } from "./modality-server.js";
import { BYTES, decoderFiles } from "./tiny-decoder.js";
import type { TinyVocabulary } from "./tiny-decoder-graph.js";

/** A model that writes one text whatever it is asked. */
export interface Script {
  /** What its template has of thoughts, tools and calls. */
  readonly forms?: string;
  /** Special tokens of its tokenizer, and tokens that are text. */
  readonly special?: readonly string[];
  readonly plain?: readonly string[];
  /** What its template writes, whatever is asked. */
  readonly prompt: string;
  readonly answer: string;
}

const CONTEXT_TOKENS = 2_048;

/** The stock client of a service on models that write scripts. */
export function createScriptedModels() {
  const folders = createModelFolders();
  const closers: (() => Promise<unknown>)[] = [];
  let count = 0;
  return {
    async open(script: Script): Promise<OpenAI> {
      const vocabulary = vocabularyWith(script);
      const tokenizer = createTextTokenizer(vocabulary.json as Record<string, unknown>);
      const idsOf = (text: string) =>
        tokenizer.encode(text, { mark: "\uf8ff", addSpecialTokens: false }).ids;
      const files = {
        ...decoderFiles({
          vocabulary,
          path: "onnx/model.onnx",
          contextTokens: CONTEXT_TOKENS,
          script: { after: idsOf(script.prompt).length, ids: idsOf(script.answer) },
        }),
        "chat_template.jinja": `{% if false %}${script.forms ?? ""}{% endif %}{{ ${JSON.stringify(script.prompt)} }}`,
      };
      const id = `scripted-${(count += 1)}`;
      const { modelsDir } = folders;
      const { path: modelPath } = await addModel(folders.write(`source-${id}`, files), {
        modelsDir,
        id,
      });
      const setup = { threads: 1, ffmpegPath: "", ffprobePath: "", espeakPath: "" };
      const pipeline = (await createChatPipeline({ modelPath, ...setup })) as Pipeline<
        never,
        never
      >;
      closers.push(() => pipeline.close());
      const info: ModelInfo = {
        id,
        modality: "chat",
        createdAtSeconds: 0,
        concurrency: 32,
        contextTokens: CONTEXT_TOKENS,
      };
      const served = [chat, responses].map(
        (modality) => ({ modality, pipeline }) as ServedModality,
      );
      const server = await serveModalities(served, info);
      closers.push(() => server.close());
      return new OpenAI({ apiKey: "none", baseURL: server.url, maxRetries: 0 });
    },
    async close() {
      for (const close of closers.toReversed()) await close();
      folders.remove();
    },
  };
}

/** A token a byte, and these besides. */
function vocabularyWith({ special = [], plain = [] }: Script): TinyVocabulary {
  const json = byteTokenizerJson();
  const first = BYTES.size;
  const added = [...special, ...plain].map((content, index) => ({
    id: first + index,
    content,
    special: index < special.length,
    normalized: false,
  }));
  return {
    ...BYTES,
    json: { ...json, added_tokens: [...json.added_tokens, ...added] },
    size: first + added.length,
    // No text of a script ends its answer early.
    exclamation: -1,
  };
}
