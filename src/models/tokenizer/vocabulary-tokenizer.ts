import { z } from "zod";

const addedToken = z.object({
  content: z.string(),
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
  single_word: z.boolean().default(false),
  normalized: z.boolean().default(false),
  special: z.boolean().default(true),
});
const named = z.union([z.string(), addedToken.transform(({ content }) => content)]).optional();
const tokenizerConfig = z.object({
  tokenizer_class: z.string().default("GPT2Tokenizer"),
  added_tokens_decoder: z.record(z.string(), addedToken).default({}),
  bos_token: named,
  eos_token: named,
  unk_token: named,
  pad_token: named,
  add_prefix_space: z.boolean().nullish(),
});
type Config = z.infer<typeof tokenizerConfig>;
const vocabulary = z.record(z.string(), z.int());
type Vocabulary = z.infer<typeof vocabulary>;

/** CLIP's words: contractions, letters, single digits, and runs of anything else (openai/CLIP). */
const CLIP_WORDS = "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+";

/**
 * tokenizer.json of a folder that has only vocab.json and merges.txt: CLIP's lower-cased words with an
 * end-of-word suffix, or GPT-2's byte-level pairs.
 */
export function tokenizerFromVocabulary(files: {
  readonly vocab: unknown;
  readonly merges: string;
  readonly config: unknown;
}): Record<string, unknown> {
  const vocab = vocabulary.parse(files.vocab);
  const config = tokenizerConfig.parse(files.config);
  const lines = files.merges.split(/\r?\n/);
  const merges = lines.filter((line) => line !== "" && !line.startsWith("#version"));
  const family = familyOf(config, vocab);
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: addedTokens(config, vocab),
    ...family.parts,
    model: {
      type: "BPE",
      dropout: null,
      unk_token: config.unk_token ?? null,
      continuing_subword_prefix: "",
      end_of_word_suffix: family.suffix,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab,
      merges,
    },
  };
}

function familyOf(config: Config, vocab: Vocabulary) {
  const name = config.tokenizer_class.replace(/Fast$/, "");
  if (name === "CLIPTokenizer") return { parts: clipParts(config, vocab), suffix: "</w>" };
  if (name === "GPT2Tokenizer") return { parts: byteLevelParts(config), suffix: "" };
  throw new Error(
    `a ${name} needs tokenizer.json: only CLIPTokenizer and GPT2Tokenizer are read from vocab.json and merges.txt`,
  );
}

function clipParts(config: Config, vocab: Vocabulary) {
  const { bos_token: bos = "<|startoftext|>", eos_token: eos = "<|endoftext|>" } = config;
  const literals = [bos, eos].map((token) => token.replaceAll("|", "\\|"));
  return {
    normalizer: {
      type: "Sequence",
      normalizers: [
        { type: "NFC" },
        { type: "Replace", pattern: { Regex: "\\s+" }, content: " " },
        { type: "Lowercase" },
      ],
    },
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        {
          type: "Split",
          pattern: { Regex: [...literals, CLIP_WORDS].join("|") },
          behavior: "Removed",
          invert: true,
        },
        { type: "ByteLevel", add_prefix_space: false, trim_offsets: true },
      ],
    },
    post_processor: {
      type: "RobertaProcessing",
      sep: [eos, idOf(vocab, eos)],
      cls: [bos, idOf(vocab, bos)],
      trim_offsets: false,
      add_prefix_space: false,
    },
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true },
  };
}

function byteLevelParts(config: Config) {
  const byteLevel = { type: "ByteLevel", add_prefix_space: config.add_prefix_space ?? false };
  return {
    normalizer: null,
    pre_tokenizer: { ...byteLevel, trim_offsets: true, use_regex: true },
    post_processor: { ...byteLevel, trim_offsets: false },
    decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true },
  };
}

/** Those that the configuration lists, and the named ones that it only names. */
function addedTokens(config: Config, vocab: Vocabulary) {
  const listed = Object.entries(config.added_tokens_decoder).map(([id, token]) =>
    withId(Number(id), token),
  );
  const contents = new Set(listed.map(({ content }) => content));
  const { bos_token: bos, eos_token: eos, unk_token: unk, pad_token: pad } = config;
  const names = [...new Set([bos, eos, unk, pad])].filter((name) => name !== undefined);
  const unlisted = names
    .filter((content) => !contents.has(content))
    .map((content) => withId(idOf(vocab, content), addedToken.parse({ content })));
  return [...listed, ...unlisted];
}

function withId(id: number, token: z.infer<typeof addedToken>) {
  return { id, ...token };
}

function idOf(vocab: Vocabulary, token: string): number {
  const id = vocab[token];
  if (id === undefined) throw new Error(`vocab.json lacks the token ${token}`);
  return id;
}
