import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { JobError } from "../../core/errors.js";
import type { PipelineSetup } from "../../core/modality.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import {
  graphPaths,
  type ModelPackage,
  openModelGraphs,
} from "../../runtime/packages/model-package.js";
import { float32, floatsOf, int64Of } from "../../runtime/tensors/tensor.js";
import { cutPhonemes, espeakVoice, phonemizeText } from "../speech/phonemes.js";
import type {
  SpeechModel,
  TextToSpeak,
  Utterance,
  UtteranceSettings,
} from "../speech/speech-model.js";
import { PAD_ID, readVocabulary, type Vocabulary } from "./vocabulary.js";
import { readStyleTables, STYLE_SIZE, type StyleTables } from "../speech/style-tables.js";

const SAMPLE_RATE_HZ = 24_000;
/** Sounds and marks in one run; the model's context is 512 with a pad at either end. */
const MAX_PHONEMES = 510;
const VOICE_ROLE = "voice-";

/** Kokoro-82M and its kin (StyleTTS 2): phonemes, a style row and a speed to a 24 kHz waveform. */
export async function openKokoro(model: ModelPackage, setup: PipelineSetup): Promise<SpeechModel> {
  const [vocabulary, styles] = await Promise.all([readVocabulary(model), readStyles(model)]);
  const session = await openModelGraphs(model, ["model"], setup);
  const speed = session.info["model"]?.inputs.find(({ name }) => name === "speed");
  const isWhole = speed?.type.startsWith("int") ?? false;
  return {
    sampleRateHz: SAMPLE_RATE_HZ,
    voices: [...styles.keys()],
    speeds: { slowest: isWhole ? 1 : 0.5, fastest: 2, isWhole },
    prepare: (text) => prepare(text, vocabulary, setup.espeakPath),
    synthesize: (utterance, settings) => synthesize(session, styles, utterance, settings),
    close: () => session.close(),
  };
}

async function prepare(
  text: TextToSpeak,
  vocabulary: Vocabulary,
  espeakPath: string,
): Promise<readonly Utterance[]> {
  const phonemes = await kokoroPhonemes(text, espeakPath);
  const known = Array.from(phonemes).filter((character) => vocabulary.has(character));
  if (!known.some((character) => /\p{L}/u.test(character))) return [];
  return cutPhonemes(known.join(""), MAX_PHONEMES).map((piece) => {
    const ids = Array.from(piece, (character) => vocabulary.get(character) ?? PAD_ID);
    return { ids: [PAD_ID, ...ids, PAD_ID], tokenCount: ids.length };
  });
}

async function synthesize(
  session: Graphs,
  styles: StyleTables,
  { ids }: Utterance,
  { voice, speed }: UtteranceSettings,
): Promise<Float32Array> {
  const table = styles.get(voice);
  if (table === undefined) throw new Error(`the model has no style for the voice ${voice}`);
  const inputs = int64Of(ids, [1, ids.length]);
  const feeds = {
    input_ids: inputs,
    tokens: inputs,
    style: float32(styleRow(table, ids.length), [1, STYLE_SIZE]),
    speed: float32(Float32Array.of(speed), [1]),
  };
  const declared = session.info["model"]?.outputs.map(({ name }) => name) ?? [];
  const output = declared.includes("audio") ? "audio" : "waveform";
  return floatsOf(await session.run("model", feeds, { fetch: [output] }), output);
}

/**
 * The style [256] for as many ids, pads included: the first row is for one phoneme (hexgrad/kokoro,
 * KPipeline). Tables of 512 rows are read to row 509 too.
 */
export function styleRow(table: Float32Array, idCount: number): Float32Array {
  const rows = Math.min(MAX_PHONEMES, table.length / STYLE_SIZE);
  const row = Math.max(0, Math.min(idCount - 3, rows - 1));
  return table.slice(row * STYLE_SIZE, (row + 1) * STYLE_SIZE);
}

async function readStyles(model: ModelPackage): Promise<StyleTables> {
  const { voices } = model.files;
  if (voices !== undefined) return await readStyleTables(join(model.path, voices.path));
  const roles = Object.keys(model.files).filter((role) => role.startsWith(VOICE_ROLE));
  if (roles.length === 0) throw new Error(`${model.path} has no voice: add voices/<id>.bin`);
  const paths = graphPaths(model, roles);
  const styles = roles.map(async (role): Promise<[string, Float32Array]> => {
    const bytes = await readFile(paths[role] ?? "");
    const rowBytes = STYLE_SIZE * Float32Array.BYTES_PER_ELEMENT;
    if (bytes.byteLength === 0 || bytes.byteLength % rowBytes !== 0) {
      throw new Error(
        `${paths[role]} must hold rows of ${rowBytes} bytes, has ${bytes.byteLength}`,
      );
    }
    return [role.slice(VOICE_ROLE.length), new Float32Array(new Uint8Array(bytes).buffer)];
  });
  return new Map(await Promise.all(styles));
}

/** First letter of a voice's id → language (hexgrad/kokoro, VOICES.md). */
const LANGUAGES: Readonly<Record<string, string>> = {
  a: "en-US",
  b: "en-GB",
  e: "es",
  f: "fr-FR",
  h: "hi",
  i: "it",
  j: "ja",
  p: "pt-BR",
  z: "zh",
};

/** Trained on other phonemizers than espeak-ng; what espeak-ng says of these would be gibberish. */
const OTHER_PHONEMES: ReadonlySet<string> = new Set(["ja", "zh"]);

/** How English sounds as the model knows them: espeak-ng's others are replaced (kokoro.js, phonemize). */
const ENGLISH_SOUNDS: readonly (readonly [RegExp, string])[] = [
  [/kəkˈoːɹoʊ/g, "kˈoʊkəɹoʊ"],
  [/kəkˈɔːɹəʊ/g, "kˈəʊkəɹəʊ"],
  [/ʲ/g, "j"],
  [/r/g, "ɹ"],
  [/x/g, "k"],
  [/ɬ/g, "l"],
  [/(?<=[a-zɹː])(?=hˈʌndɹɪd)/g, " "],
  [/ z(?=[;:,.!?¡¿—…"() ]|$)/g, "z"],
];

/** BCP 47 code of a voice: `af_heart` speaks American English. */
function kokoroLanguage(voice: string): string {
  const [, letter = "a"] = /^([a-z])[fm]_/.exec(voice) ?? [];
  return LANGUAGES[letter] ?? "en-US";
}

/** A text as the sounds and marks that Kokoro reads. */
export async function kokoroPhonemes(
  { text, voice, language, signal }: TextToSpeak,
  espeakPath: string,
): Promise<string> {
  const code = language ?? kokoroLanguage(voice);
  const [base = ""] = code.toLowerCase().split("-");
  if (OTHER_PHONEMES.has(base)) {
    const message = `language must be one that espeak-ng prepares for Kokoro, got ${code} (voice ${voice})`;
    throw new JobError("invalid_value", message, {
      param: language === null ? "voice" : "language",
    });
  }
  const options = { espeakPath, voice: espeakVoice(code), signal };
  const phonemes = await phonemizeText(text, options);
  return base === "en" ? settleEnglish(phonemes, options.voice === "en-us") : phonemes;
}

function settleEnglish(phonemes: string, isAmerican: boolean): string {
  const settled = ENGLISH_SOUNDS.reduce(
    (said, [sound, known]) => said.replaceAll(sound, known),
    phonemes,
  );
  return isAmerican ? settled.replaceAll(/(?<=nˈaɪn)ti(?!ː)/g, "di") : settled;
}
