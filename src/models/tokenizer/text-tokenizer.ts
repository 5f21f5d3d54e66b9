import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Tokenizer } from "@huggingface/tokenizers";
import { z } from "zod";
import type { ModelPackage } from "../../runtime/packages/model-package.js";
import { createTokenBreaker, findMark } from "./break-tokens.js";
import { createTokenBytes, type TokenBytes } from "./token-bytes.js";
import { tokenizerFromVocabulary } from "./vocabulary-tokenizer.js";

/** Paths of a published tokenizer: tokenizer.json, or the older vocab.json with merges.txt. */
export type TokenizerFiles =
  | { readonly tokenizer: string; readonly config?: string | undefined }
  | { readonly vocab: string; readonly merges: string; readonly config?: string | undefined };

export interface EncodeOptions {
  /** Second text of a pair, for rerankers. */
  readonly pair?: string;
  /** Whether to add what the model wants around a text, e.g. `<s>`; true by default. */
  readonly addSpecialTokens?: boolean;
  /** Most ids, special ones included; tokens are cut from the end of the longer text. */
  readonly maxTokens?: number;
  /**
   * Tokens of structure that the text writes count, but for those that this mark breaks up; it is no part
   * of the text. Absent for what a caller wrote: there all is text.
   */
  readonly mark?: string;
}

export interface TextEncoding {
  readonly ids: number[];
  /** 0 for the first text, 1 for the second, as BERT's `token_type_ids`. */
  readonly typeIds: number[];
}

export interface SpecialTokens {
  readonly bos?: number;
  readonly eos?: number;
  readonly unk?: number;
  readonly sep?: number;
  readonly pad?: number;
  readonly cls?: number;
  readonly mask?: number;
}

/** A token beside the model's own vocabulary of words. */
export interface AddedToken {
  readonly content: string;
  /** Whether it is structure and no text. */
  readonly special: boolean;
}

/** Text to token ids and back, as the model's own tokenizer does it. */
export interface TextTokenizer {
  /** One more than the greatest id. */
  readonly vocabSize: number;
  /** Ids that are structure and no text. */
  readonly specialIds: ReadonlySet<number>;
  readonly special: SpecialTokens;
  readonly addedTokens: readonly AddedToken[];
  /** UTF-16 units of the longest token, as the vocabulary writes it. */
  readonly longestToken: number;
  /** Most tokens of one input, as the configuration says it; undefined where it sets no bound. */
  readonly maxTokens: number | undefined;
  /** tokenizer_config.json, `{}` where there is none. */
  readonly config: Readonly<Record<string, unknown>>;
  /** tokenizer.json, for libraries that read it themselves. */
  readonly json: Readonly<Record<string, unknown>>;
  /** Bytes that each token adds to a text; undefined for decoders that look at neighbours. */
  readonly bytes: TokenBytes | undefined;
  encode(text: string, options?: EncodeOptions): TextEncoding;
  /** The text of ids; special tokens are left out unless kept. */
  decode(ids: readonly number[], options?: { readonly keepSpecialTokens?: boolean }): string;
  idOf(token: string): number | undefined;
  tokenOf(id: number): string | undefined;
}

/** What is used of the library: its own declarations do not resolve under Node's module rules. */
interface Library {
  readonly model: Model;
  readonly post_processor: PostProcess | null;
  readonly pre_tokenizer: PreTokenize | null;
  tokenize(text: string): string[];
  decode(ids: readonly number[], options: object): string;
  token_to_id(token: string): number | undefined;
  id_to_token(id: number): string | undefined;
  get_added_tokens_decoder(): ReadonlyMap<number, AddedToken & { readonly id: number }>;
}

type PreTokenize = (text: string, options: object) => string[];
interface Model {
  (words: readonly string[]): string[];
  readonly vocab: readonly (string | undefined)[];
  readonly unk_token?: string;
  readonly unk_token_id?: number;
}

type PostProcess = (
  first: readonly string[],
  second: readonly string[] | null,
  addSpecialTokens: boolean,
) => { readonly tokens: readonly string[]; readonly token_type_ids?: number[] };

/** Reads a tokenizer's files. Throws an error that names the file at fault. */
export async function loadTextTokenizer(files: TokenizerFiles): Promise<TextTokenizer> {
  const config = files.config === undefined ? {} : await readJson(files.config);
  if ("tokenizer" in files) return createTextTokenizer(await readJson(files.tokenizer), config);
  const merges = await readFile(files.merges, "utf8");
  const json = tokenizerFromVocabulary({ vocab: await readJson(files.vocab), merges, config });
  return createTextTokenizer(json, config);
}

/** The tokenizer of a package: role `tokenizer`, or vocabulary and merges, with `suffix` behind the word. */
export function loadModelTokenizer(
  { path, files }: ModelPackage,
  suffix = "",
): Promise<TextTokenizer> {
  const find = (part: string) => {
    const file = files[`tokenizer${suffix}${part}`];
    return file && join(path, file.path);
  };
  const config = find("-config");
  const [tokenizer, vocab, merges] = [find(""), find("-vocab"), find("-merges")];
  if (tokenizer !== undefined) return loadTextTokenizer({ tokenizer, config });
  if (vocab !== undefined && merges !== undefined)
    return loadTextTokenizer({ vocab, merges, config });
  throw new Error(`${path}/model.json has no file for tokenizer${suffix}`);
}

async function readJson(path: string): Promise<Record<string, unknown>> {
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(await readFile(path, "utf8")));
  } catch (cause) {
    throw new Error(`${path} is not a JSON object`, { cause });
  }
}

const namedToken = z
  .union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)])
  .nullish()
  .catch(null);

const tokenizerConfig = z.object({
  bos_token: namedToken,
  eos_token: namedToken,
  unk_token: namedToken,
  sep_token: namedToken,
  pad_token: namedToken,
  cls_token: namedToken,
  mask_token: namedToken,
  model_max_length: z.number().nullish().catch(null),
  clean_up_tokenization_spaces: z.boolean().nullish().catch(null),
});

/** Configurations write "no bound" as about 10^30. */
const GREATEST_LENGTH = 2 ** 31;

/** A tokenizer from the parsed tokenizer.json and tokenizer_config.json. */
export function createTextTokenizer(
  json: Readonly<Record<string, unknown>>,
  config: Readonly<Record<string, unknown>> = {},
): TextTokenizer {
  const absent = { decoder: null, post_processor: null, pre_tokenizer: null, normalizer: null };
  const complete = { added_tokens: [], ...absent, ...json };
  const library: Library = new Tokenizer(complete, config);
  const parsed = tokenizerConfig.parse(config);
  const length = parsed.model_max_length;
  const added = [...library.get_added_tokens_decoder().values()];
  const specialIds = new Set(added.filter(({ special }) => special).map(({ id }) => id));
  const tokenize = createTokenize(library, added);
  const bytes = createTokenBytes(complete, (id) => library.id_to_token(id));
  const cleanUp = parsed.clean_up_tokenization_spaces ?? false;
  return {
    vocabSize: library.model.vocab.length,
    specialIds,
    special: namedIds(library, parsed),
    addedTokens: added.map(({ content, special }) => ({ content, special })),
    longestToken: library.model.vocab.reduce(
      (most, token) => Math.max(most, token?.length ?? 0),
      1,
    ),
    maxTokens: length && length > 0 && length < GREATEST_LENGTH ? length : undefined,
    config,
    json: complete,
    bytes,
    encode: (text, options = {}) => encode({ library, tokenize }, text, options),
    decode(ids, { keepSpecialTokens = false } = {}) {
      const kept = keepSpecialTokens ? [...ids] : ids.filter((id) => !specialIds.has(id));
      if (kept.length === 0) return "";
      if (bytes && !cleanUp) return bytes.decode(kept);
      return library.decode(kept, {
        skip_special_tokens: !keepSpecialTokens,
        clean_up_tokenization_spaces: cleanUp,
      });
    },
    idOf: (token) => library.token_to_id(token),
    tokenOf: (id) => library.id_to_token(id),
  };
}

type Tokenize = (text: string, mark: string | undefined) => string[];

/** Texts to tokens; what a mark breaks up, or all that a caller's text has, is read as text. */
function createTokenize(library: Library, added: readonly AddedToken[]): Tokenize {
  const breakTokens = createTokenBreaker(
    added.filter(({ special }) => special).map(({ content }) => content),
  );
  return (text, mark) => {
    if (mark !== undefined)
      return text.includes(mark) ? readMarked(library, text, mark) : library.tokenize(text);
    const own = findMark(text);
    const broken = breakTokens(text, own);
    return broken === text ? library.tokenize(text) : readMarked(library, broken, own);
  };
}

/** The mark stays until added tokens were looked for, and goes before words are. */
function readMarked(library: Library, marked: string, mark: string): string[] {
  const { pre_tokenizer: split, model } = library;
  const added = [...library.get_added_tokens_decoder().values()];
  const isStructure = new Set(added.flatMap(({ content, special }) => (special ? content : [])));
  const reader: Library = Object.create(library, {
    pre_tokenizer: {
      value: (text: string, options: object) => {
        const plain = text.replaceAll(mark, "");
        return split === null ? [plain] : split(plain, options);
      },
    },
    // Some models have their added tokens among their pieces: `</s>` would still be one.
    model: {
      value: (words: readonly string[]) =>
        model(words).flatMap((token) => {
          const isText = !isStructure.has(token) || token === model.unk_token || token.length < 2;
          return isText ? [token] : model([token.slice(0, 1)]).concat(model([token.slice(1)]));
        }),
    },
  });
  return reader.tokenize(marked);
}

function namedIds(library: Library, config: z.infer<typeof tokenizerConfig>): SpecialTokens {
  const names = ["bos", "eos", "unk", "sep", "pad", "cls", "mask"] as const;
  const found = names.map((name) => {
    const token = config[`${name}_token`];
    return [name, token ? library.token_to_id(token) : undefined] as const;
  });
  return Object.fromEntries(found.filter(([, id]) => id !== undefined));
}

function encode(
  { library, tokenize }: { readonly library: Library; readonly tokenize: Tokenize },
  text: string,
  options: EncodeOptions,
): TextEncoding {
  const { pair, addSpecialTokens = true, maxTokens, mark } = options;
  const first = tokenize(text, mark);
  const second = pair === undefined ? null : tokenize(pair, mark);
  const whole = wrap(library, { first, second, addSpecialTokens });
  if (maxTokens === undefined || whole.ids.length <= maxTokens) return whole;
  const added = whole.ids.length - first.length - (second?.length ?? 0);
  cutTokens({ first, second, room: Math.max(0, maxTokens - added) });
  return wrap(library, { first, second, addSpecialTokens });
}

interface Wrapped {
  readonly first: string[];
  readonly second: string[] | null;
  readonly addSpecialTokens: boolean;
}

function wrap(library: Library, { first, second, addSpecialTokens }: Wrapped): TextEncoding {
  const plain: ReturnType<PostProcess> = { tokens: [...first, ...(second ?? [])] };
  const processed = library.post_processor?.(first, second, addSpecialTokens) ?? plain;
  const unknown = library.model.unk_token_id ?? 0;
  const ids = processed.tokens.map((token) => library.token_to_id(token) ?? unknown);
  const firstLength = second === null ? ids.length : first.length;
  const typeIds = processed.token_type_ids ?? ids.map((_, index) => (index < firstLength ? 0 : 1));
  return { ids, typeIds };
}

/** The longer text loses its last token until both fit ("longest first" of the reference library). */
function cutTokens(cut: {
  readonly first: string[];
  readonly second: string[] | null;
  readonly room: number;
}): void {
  const { first, second, room } = cut;
  const excess = first.length + (second?.length ?? 0) - room;
  for (let index = 0; index < excess; index += 1) {
    ((second?.length ?? 0) >= first.length ? second : first)?.pop();
  }
}
