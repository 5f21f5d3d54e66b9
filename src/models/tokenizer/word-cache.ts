import { z } from "zod";

/** Reads ids of a text without special tokens. */
export type ReadIds = (text: string) => readonly number[];

/** What of tokenizer.json decides whether words can be read one by one. */
const step = z.looseObject({ type: z.string() });
type Step = z.infer<typeof step>;
const tokenizerJson = z.object({
  normalizer: step.nullish(),
  pre_tokenizer: step.nullish(),
  added_tokens: z.array(
    z.object({
      content: z.string(),
      single_word: z.boolean().optional(),
      lstrip: z.boolean().optional(),
      rstrip: z.boolean().optional(),
    }),
  ),
});
type TokenizerJson = z.infer<typeof tokenizerJson>;

/** Words of each of the two halves of the cache. */
const HALF_WORDS = 25_000;
/** Longer ones are seldom seen twice. */
const LONGEST_WORD = 40;

/** What SentencePiece writes for a space: in a text of its own it is one more. */
const WRITTEN_SPACE = "▁";

/**
 * Reads texts word by word through a cache, where the tokenizer treats words alike whatever is around
 * them; whole otherwise. Words recur (Zipf's law), so most of a text is not tokenised again.
 */
export function cacheWords(json: unknown, read: ReadIds): (text: string) => Int32Array {
  const parsed = tokenizerJson.safeParse(json);
  if (!parsed.success || !isWordwise(parsed.data)) return (text) => Int32Array.from(read(text));
  const wide = [
    WRITTEN_SPACE,
    ...parsed.data.added_tokens.filter(reachesOut).map(({ content }) => content),
  ];
  const idsOf = rememberWords(read);
  return (text) => {
    if (wide.some((content) => text.includes(content))) return Int32Array.from(read(text));
    const ids: number[] = [];
    for (const word of text.split(/[ \n\r\t]+/)) {
      if (word === "") continue;
      for (const id of word.length > LONGEST_WORD ? read(word) : idsOf(word)) ids.push(id);
    }
    return Int32Array.from(ids);
  };
}

/** Least lately used words go, half of them at a time. */
function rememberWords(read: ReadIds): ReadIds {
  let young = new Map<string, readonly number[]>();
  let old = young;
  return (word) => {
    const known = young.get(word);
    if (known !== undefined) return known;
    const ids = old.get(word) ?? read(word);
    if (young.size >= HALF_WORDS) {
      old = young;
      young = new Map();
    }
    young.set(word, ids);
    return ids;
  };
}

/** Added tokens that take white space with them, or depend on what is beside them. */
function reachesOut({
  content,
  lstrip,
  rstrip,
  single_word,
}: TokenizerJson["added_tokens"][number]) {
  return lstrip === true || rstrip === true || single_word === true || /\s/.test(content);
}

function isWordwise({ normalizer, pre_tokenizer }: TokenizerJson): boolean {
  const normalizers = stepsOf(normalizer, "normalizers");
  const splitters = stepsOf(pre_tokenizer, "pretokenizers");
  if (!normalizers.every(keepsWordsApart)) return false;
  const [first] = splitters;
  if (first === undefined) return false;
  const splits = ["BertPreTokenizer", "Whitespace", "WhitespaceSplit"].includes(first.type);
  if (splits) return splitters.slice(1).every(treatsWordsAlike);
  const trims =
    normalizers.some(collapsesSpace) && normalizers.some(({ type }) => type === "Strip");
  return splitters.length === 1 && trims && first["split"] !== false && treatsWordsAlike(first);
}

function stepsOf(one: Step | null | undefined, list: string): readonly Step[] {
  if (one === null || one === undefined) return [];
  if (one.type !== "Sequence") return [one];
  return z
    .array(step)
    .catch([{ type: "unknown" }])
    .parse(one[list]);
}

const CHARACTERWISE = new Set(
  "BertNormalizer Lowercase NFC NFD NFKC NFKD StripAccents Precompiled Nmt Strip".split(" "),
);

/** What changes characters or words, never the space between words into something else. */
function keepsWordsApart(one: Step): boolean {
  if (CHARACTERWISE.has(one.type)) return true;
  if (collapsesSpace(one)) return true;
  const pattern = z.object({ String: z.string().regex(/^\S+$/) });
  return one.type === "Replace" && pattern.safeParse(one["pattern"]).success;
}

function collapsesSpace({ type, pattern, content }: Step): boolean {
  const regex = z.object({ Regex: z.literal(String.raw`\s+`) });
  return type === "Replace" && content === " " && regex.safeParse(pattern).success;
}

function treatsWordsAlike({
  type,
  prepend_scheme: scheme,
  add_prefix_space: prefix,
}: Step): boolean {
  if (type === "Metaspace") return scheme === undefined ? prefix !== false : scheme === "always";
  return type === "Punctuation" || type === "Digits";
}
