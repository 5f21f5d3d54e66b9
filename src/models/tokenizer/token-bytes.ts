import { z } from "zod";

/** What each token adds to a text, where a tokenizer's decoder works token by token. */
export interface TokenBytes {
  /** UTF-8, perhaps a part of a character. */
  bytesOf(id: number): Uint8Array;
  /** Whether a text loses one space at its beginning: SentencePiece puts it there. */
  readonly dropsFirstSpace: boolean;
  decode(ids: readonly number[]): string;
}

const pattern = z.object({ String: z.string() });
const step = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ByteLevel") }),
  z.object({ type: z.literal("ByteFallback") }),
  z.object({ type: z.literal("Fuse") }),
  z.object({ type: z.literal("Metaspace"), replacement: z.string().default("▁") }),
  z.object({ type: z.literal("Replace"), pattern, content: z.string() }),
  z.object({
    type: z.literal("Strip"),
    content: z.literal(" "),
    start: z.int().max(1),
    stop: z.literal(0),
  }),
]);
type Step = z.infer<typeof step>;
const decoder = z.union([
  z.object({ type: z.literal("Sequence"), decoders: z.array(step) }),
  step.transform((only) => ({ type: "Sequence" as const, decoders: [only] })),
]);
const tokenizerJson = z.object({
  decoder,
  model: z.object({ end_of_word_suffix: z.literal(["", null]).optional() }),
  added_tokens: z.array(z.object({ id: z.int(), content: z.string() })),
});

/** Undefined where the decoder is of a kind that looks at neighbours, as WordPiece's does. */
export function createTokenBytes(
  json: unknown,
  tokenOf: (id: number) => string | undefined,
): TokenBytes | undefined {
  const parsed = tokenizerJson.safeParse(json);
  if (!parsed.success) return undefined;
  const {
    decoder: { decoders },
    added_tokens: added,
  } = parsed.data;
  const literals = new Map(added.map(({ id, content }) => [id, content]));
  const toBytes = decodeToken(decoders);
  const cache: (Uint8Array | undefined)[] = [];
  const bytesOf = (id: number): Uint8Array => {
    const known = cache[id];
    if (known !== undefined) return known;
    const literal = literals.get(id);
    const bytes = literal === undefined ? toBytes(tokenOf(id) ?? "") : Buffer.from(literal);
    cache[id] = bytes;
    return bytes;
  };
  const dropsFirstSpace = decoders.some(dropsSpace);
  return { bytesOf, dropsFirstSpace, decode: (ids) => decode(ids, { bytesOf, dropsFirstSpace }) };
}

function dropsSpace(one: Step): boolean {
  return one.type === "Metaspace" || (one.type === "Strip" && one.start === 1);
}

function decode(
  ids: readonly number[],
  { bytesOf, dropsFirstSpace }: Omit<TokenBytes, "decode">,
): string {
  const text = Buffer.concat(ids.map(bytesOf)).toString("utf8");
  return dropsFirstSpace && text.startsWith(" ") ? text.slice(1) : text;
}

function decodeToken(steps: readonly Step[]): (token: string) => Uint8Array {
  if (steps.some(({ type }) => type === "ByteLevel")) return byteLevelBytes;
  const fallback = steps.some(({ type }) => type === "ByteFallback");
  return (token) => {
    const byte = fallback ? /^<0x([0-9A-Fa-f]{2})>$/.exec(token)?.[1] : undefined;
    if (byte !== undefined) return Uint8Array.of(Number.parseInt(byte, 16));
    return Buffer.from(steps.reduce(applyStep, token));
  };
}

function applyStep(token: string, one: Step): string {
  if (one.type === "Replace") return token.replaceAll(one.pattern.String, one.content);
  if (one.type === "Metaspace") return token.replaceAll(one.replacement, " ");
  return token;
}

let bytesOfCodes: Int16Array | undefined;

/** Byte-level vocabularies write each byte as one printable character (GPT-2, `bytes_to_unicode`). */
function byteLevelBytes(token: string): Uint8Array {
  bytesOfCodes ??= createByteTable();
  const bytes = new Uint8Array(token.length);
  for (let index = 0; index < token.length; index += 1) {
    const byte = bytesOfCodes[token.charCodeAt(index)] ?? -1;
    if (byte < 0) return mixedBytes(token, bytesOfCodes);
    bytes[index] = byte;
  }
  return bytes;
}

/** Other characters stand for themselves. */
function mixedBytes(token: string, table: Int16Array): Uint8Array {
  const bytes = Array.from(token, (character) => {
    const byte = table[character.codePointAt(0) ?? 0] ?? -1;
    return byte < 0 ? [...Buffer.from(character)] : [byte];
  });
  return Uint8Array.from(bytes.flat());
}

/** Byte of each character by its code; −1 for those that write none. */
function createByteTable(): Int16Array {
  const codes = byteCharacters().map((character) => character.codePointAt(0) ?? 0);
  const table = new Int16Array(Math.max(...codes) + 1).fill(-1);
  for (const [byte, code] of codes.entries()) table[code] = byte;
  return table;
}

/** The character of each byte: itself where it prints, else the next of U+0100 onwards. */
export function byteCharacters(): string[] {
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => {
    const prints = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
    return String.fromCodePoint(prints ? byte : next++);
  });
}
