import { JobError } from "../../core/errors.js";
import type { PipelineSetup } from "../../core/modality.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import {
  graphPaths,
  type ModelPackage,
  openModelGraphs,
  readModelJson,
} from "../../runtime/packages/model-package.js";
import { float32, floatsOf, int64Of } from "../../runtime/tensors/tensor.js";
import { cutPhonemes, espeakVoice, phonemizeText } from "../speech/phonemes.js";
import type {
  SpeechModel,
  TextToSpeak,
  Utterance,
  UtteranceSettings,
} from "../speech/speech-model.js";
import { readStyleTables, STYLE_SIZE, type StyleTables } from "../speech/style-tables.js";
import { KITTEN_RATE_HZ } from "./layout.js";
import { type KittenConfig, kittenConfig, kittenVoices } from "./settings.js";

/** Symbols in one run; the model's context is 512 with what stands around them. */
const MAX_SYMBOLS = 480;
/** Samples behind the sound that its author cuts off. */
const TAIL_SAMPLES = 5_000;

/** KittenTTS (StyleTTS 2): phonemes, a style row and a speed to a 24 kHz waveform. */
export async function openKittenTts(
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<SpeechModel> {
  const config = await readModelJson(model, "config", kittenConfig);
  const { voices: archive = "" } = graphPaths(model, ["voices"]);
  const tables = await readStyleTables(archive);
  const session = await openModelGraphs(model, ["model"], setup);
  return {
    sampleRateHz: KITTEN_RATE_HZ,
    voices: kittenVoices(config, tables),
    speeds: { slowest: 0.5, fastest: 2, isWhole: false },
    prepare: async (text) => utterancesOf(...(await symbolsOf(text, setup.espeakPath))),
    synthesize: (utterance, settings) =>
      synthesize({ session, config, tables }, utterance, settings),
    close: () => session.close(),
  };
}

/** A text that ends as the model's own cutter has it, and its phonemes, words and marks apart. */
async function symbolsOf(
  { text, language, signal }: TextToSpeak,
  espeakPath: string,
): Promise<[symbols: string, text: string]> {
  const code = language ?? "en-US";
  if (!/^en(-|$)/i.test(code)) {
    const message = `language must be en, all that KittenTTS speaks, got ${code}`;
    throw new JobError("invalid_value", message, { param: "language" });
  }
  const ended = /[.!?,;:]$/.test(text) ? text : `${text},`;
  const options = { espeakPath, voice: espeakVoice(code), signal };
  const phonemes = await phonemizeText(ended, options);
  return [(phonemes.match(/[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]/gu) ?? []).join(" "), ended];
}

/** Pieces that the model takes, each with its share of the text's length. */
export function utterancesOf(symbols: string, text: string): Utterance[] {
  const known = Array.from(symbols).filter((symbol) => SYMBOLS.has(symbol));
  if (!known.some((symbol) => /\p{L}/u.test(symbol))) return [];
  const pieces = cutPhonemes(known.join(""), MAX_SYMBOLS).map((piece) => Array.from(piece));
  return pieces.map((piece) => ({
    ids: [PAD_ID, ...piece.map((symbol) => SYMBOLS.get(symbol) ?? PAD_ID), END_ID, PAD_ID],
    tokenCount: piece.length,
    characters: Math.round((Array.from(text).length * piece.length) / known.length),
  }));
}

interface OpenVoice {
  readonly session: Graphs;
  readonly config: KittenConfig;
  readonly tables: StyleTables;
}

async function synthesize(
  { session, config, tables }: OpenVoice,
  { ids, characters = 0 }: Utterance,
  { voice, speed }: UtteranceSettings,
): Promise<Float32Array> {
  const name = config.voice_aliases[voice] ?? voice;
  const table = tables.get(name);
  if (table === undefined) throw new Error(`the model has no style for the voice ${voice}`);
  const feeds = {
    input_ids: int64Of(ids, [1, ids.length]),
    style: float32(kittenStyle(table, characters), [1, STYLE_SIZE]),
    speed: float32(Float32Array.of(speed * (config.speed_priors[name] ?? 1)), [1]),
  };
  const outputs = await session.run("model", feeds, { fetch: ["waveform"] });
  const said = floatsOf(outputs, "waveform");
  return said.length > TAIL_SAMPLES ? said.subarray(0, -TAIL_SAMPLES) : said;
}

/** The style [256] for a text of as many characters; the first voices have one for all. */
export function kittenStyle(table: Float32Array, characters: number): Float32Array {
  const row = Math.min(characters, table.length / STYLE_SIZE - 1);
  return table.slice(row * STYLE_SIZE, (row + 1) * STYLE_SIZE);
}

const PAD_ID = 0;
const END_ID = 10;

/** Ids are places in this list, the last where a symbol stands twice (KittenML/KittenTTS, TextCleaner). */
const SYMBOLS: ReadonlyMap<string, number> = new Map(
  Array.from(
    '$;:,.!?¡¿—…"«»"" ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz' +
      "ɑɐɒæɓʙβɔɕçɗɖðʤəɘɚɛɜɝɞɟʄɡɠɢʛɦɧħɥʜɨɪʝɭɬɫɮʟɱɯɰŋɳɲɴøɵɸθœɶʘɹɺɾɻʀʁɽʂʃʈʧʉʊʋⱱʌɣɤʍχʎʏʑʐʒʔʡʕʢǀǁǂǃ" +
      "ˈˌːˑʼʴʰʱʲʷˠˤ˞↓↑→↗↘'\u0329'ᵻ",
    (symbol, id) => [symbol, id] as const,
  ).filter(([, id]) => id !== PAD_ID),
);
