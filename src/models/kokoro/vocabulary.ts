import { z } from "zod";
import { readOnnxOutline } from "../../runtime/onnx/onnx-outline.js";
import {
  graphPaths,
  type ModelPackage,
  readModelText,
} from "../../runtime/packages/model-package.js";
import { parseJson } from "../../runtime/packages/parse-settings.js";

/** Id of a sound or mark. */
export type Vocabulary = ReadonlyMap<string, number>;

export const PAD_ID = 0;

const vocabularies = z.union([
  z.object({ model: z.object({ vocab: z.record(z.string(), z.int()) }) }),
  z.object({ vocab: z.record(z.string(), z.int()) }),
]);

/**
 * One id a character: from tokenizer.json, from config.json as in hexgrad's exports, from what kokoro-onnx
 * writes into its graphs; else Kokoro's own, which go without a file there.
 */
export async function readVocabulary(model: ModelPackage): Promise<Vocabulary> {
  for (const role of ["tokenizer", "config"]) {
    if (model.files[role] === undefined) continue;
    const parsed = vocabularies.safeParse(JSON.parse(await readModelText(model, role)));
    if (parsed.success) return vocabularyOf(parsed.data);
  }
  const { model: graph = "" } = graphPaths(model, ["model"]);
  const written = readOnnxOutline(graph).metadata["kokoro_config"];
  if (written !== undefined)
    return vocabularyOf(parseJson(vocabularies, written, `kokoro_config of ${graph}`));
  if (model.files["tokenizer"] === undefined && model.files["config"] === undefined)
    return ownVocabulary();
  throw new Error(`${model.path}: neither tokenizer.json nor config.json has a vocabulary`);
}

function vocabularyOf(parsed: z.infer<typeof vocabularies>): Vocabulary {
  const vocab = "model" in parsed ? parsed.model.vocab : parsed.vocab;
  // The pad is no sound.
  return new Map(Object.entries(vocab).filter(([, id]) => id !== PAD_ID));
}

/** Kokoro's symbols (config.json of hexgrad/Kokoro-82M), in runs of ids from the first. */
const OWN_SYMBOLS: readonly (readonly [firstId: number, symbols: string])[] = [
  [1, ";:,.!?"],
  [9, '—…"()“” \u0303ʣʥʦʨᵝꭧAI'],
  [31, "O"],
  [33, "Q"],
  [35, "ST"],
  [39, "W"],
  [41, "Yᵊabcdef"],
  [50, "hijklmnopqrstuvwxyzɑɐɒæ"],
  [75, "βɔɕç"],
  [80, "ɖðʤə"],
  [85, "ɚɛɜ"],
  [90, "ɟ"],
  [92, "ɡ"],
  [99, "ɥ"],
  [101, "ɨɪʝ"],
  [110, "ɯɰŋɳɲɴø"],
  [118, "ɸθœ"],
  [123, "ɹ"],
  [125, "ɾɻ"],
  [128, "ʁɽʂʃʈʧ"],
  [135, "ʊʋ"],
  [138, "ʌɣɤ"],
  [142, "χʎ"],
  [147, "ʒʔ"],
  [156, "ˈˌː"],
  [162, "ʰ"],
  [164, "ʲ"],
  [169, "↓"],
  [171, "→↗↘"],
  [177, "ᵻ"],
];

function ownVocabulary(): Vocabulary {
  return new Map(
    OWN_SYMBOLS.flatMap(([firstId, symbols]) =>
      Array.from(symbols, (symbol, at) => [symbol, firstId + at] as const),
    ),
  );
}
