import { z } from "zod";
import { parseJson } from "../../runtime/packages/parse-settings.js";
import type { PipelineSetup } from "../../core/modality.js";
import {
  type ModelPackage,
  openModelGraphs,
  readModelText,
} from "../../runtime/packages/model-package.js";
import type { Graphs } from "../../runtime/ort/graphs.js";
import { float32, floatsOf, int64Of } from "../../runtime/tensors/tensor.js";
import { sayEnglish } from "../speech/english-text.js";
import { cutPhonemes, espeakVoice, phonemizeText, settleMarks } from "../speech/phonemes.js";
import {
  numberedVoices,
  SOLE_VOICE,
  type SpeechModel,
  type TextToSpeak,
  type Utterance,
  type UtteranceSettings,
} from "../speech/speech-model.js";

const [PAD, BEGIN, END] = ["_", "^", "$"] as const;
/** Not sounds, even where a text holds them. */
const MARKS: ReadonlySet<string> = new Set([PAD, BEGIN, END]);
/** Sounds in one run: the graph's memory grows with the square. */
const MAX_PHONEMES = 400;

/** `<voice>.onnx.json` (rhasspy/piper, config of a voice). */
const voiceConfig = z.object({
  audio: z.object({ sample_rate: z.int().min(1_000) }),
  espeak: z.object({ voice: z.string() }).optional(),
  inference: z
    .object({ noise_scale: z.number(), length_scale: z.number(), noise_w: z.number() })
    .partial()
    .optional(),
  phoneme_type: z.string().default("espeak"),
  phoneme_map: z.record(z.string(), z.array(z.string())).default({}),
  phoneme_id_map: z.record(z.string(), z.array(z.int()).min(1)),
  num_speakers: z.int().default(1),
  speaker_id_map: z.record(z.string(), z.int()).default({}),
});

export type PiperConfig = z.infer<typeof voiceConfig>;

/** Throws an error that names the first field that cannot be used. */
export function parsePiperConfig(text: string, path: string): PiperConfig {
  const config = parseJson(voiceConfig, text, path);
  const { phoneme_type: type, phoneme_id_map: ids } = config;
  if (type !== "espeak" && type !== "text")
    throw new Error(`${path}: phoneme_type must be espeak or text, got ${type}`);
  for (const mark of MARKS)
    if (ids[mark] === undefined) throw new Error(`${path}: phoneme_id_map lacks ${mark}`);
  return config;
}

/** A Piper voice (VITS): ids of sounds, three scales and a speaker to a waveform. */
export async function openPiper(model: ModelPackage, setup: PipelineSetup): Promise<SpeechModel> {
  const config = parsePiperConfig(await readModelText(model, "config"), model.path);
  const session = await openModelGraphs(model, ["model"], setup);
  return {
    sampleRateHz: config.audio.sample_rate,
    voices: speakersOf(config),
    speeds: { slowest: 0.5, fastest: 2, isWhole: false },
    prepare: async (text) =>
      utterancesOf(await piperPhonemes(text, config, setup.espeakPath), config),
    notes: (text) => unspokenNotes(text, config),
    synthesize: (utterance, settings) => synthesize(session, config, utterance, settings),
    close: () => session.close(),
  };
}

function speakersOf({ num_speakers: count, speaker_id_map: speakers }: PiperConfig): string[] {
  const names = Object.entries(speakers).toSorted(([, one], [, other]) => one - other);
  if (names.length > 0) return names.map(([name]) => name);
  return count > 1 ? numberedVoices(count) : [SOLE_VOICE];
}

async function piperPhonemes(
  { text, language, signal }: TextToSpeak,
  config: PiperConfig,
  espeakPath: string,
): Promise<string> {
  const { phoneme_type: type, espeak } = config;
  if (type === "text") return writtenAsSpoken(text, language, config);
  const voice = language === null ? (espeak?.voice ?? "en-us") : espeakVoice(language);
  return phonemizeText(text, { espeakPath, voice, signal });
}

function writtenAsSpoken(text: string, language: string | null, { espeak }: PiperConfig): string {
  const settled = settleMarks(text);
  return (language ?? espeak?.voice ?? "").startsWith("en") ? sayEnglish(settled) : settled;
}

/** Ids as the voice was trained with: begin, then each sound, a pad behind each, end. */
export function utterancesOf(phonemes: string, config: PiperConfig): Utterance[] {
  const { phoneme_id_map: ids, phoneme_map: replaced } = config;
  const characters = Array.from(phonemes.normalize("NFD"))
    .flatMap((character) => replaced[character] ?? [character])
    .map((character) => (ids[character] === undefined ? character.toLowerCase() : character));
  const isSound = (character: string) => ids[character] !== undefined && !MARKS.has(character);
  const known = characters.filter(isSound);
  if (!known.some((character) => /[\p{L}\p{N}]/u.test(character))) return [];
  const idsOf = (character = "") => ids[character] ?? [];
  const pad = idsOf(PAD);
  return cutPhonemes(known.join(""), MAX_PHONEMES).map((piece) => {
    const sounds = Array.from(piece);
    const padded = sounds.flatMap((sound) => [...idsOf(sound), ...pad]);
    return {
      ids: [...idsOf(BEGIN), ...pad, ...padded, ...idsOf(END)],
      tokenCount: sounds.length,
    };
  });
}

/** Of a voice that reads letters, those that it has no sounds for: phonemes are not counted, espeak-ng made them. */
function unspokenNotes(
  { text, language }: Pick<TextToSpeak, "text" | "language">,
  config: PiperConfig,
): string[] {
  if (config.phoneme_type !== "text") return [];
  const { phoneme_id_map: ids, phoneme_map: replaced } = config;
  const letters = Array.from(writtenAsSpoken(text, language, config).normalize("NFD"))
    .flatMap((character) => replaced[character] ?? [character])
    .filter((character) => /[\p{L}\p{N}]/u.test(character));
  const unspoken = letters.filter(
    (letter) => ids[letter] === undefined && ids[letter.toLowerCase()] === undefined,
  );
  if (unspoken.length === 0) return [];
  return [
    `${unspoken.length} of ${letters.length} letters were left out: this voice has no sounds for them.`,
  ];
}

async function synthesize(
  session: Graphs,
  { inference = {}, speaker_id_map: speakers }: PiperConfig,
  { ids }: Utterance,
  { voice, speed }: UtteranceSettings,
): Promise<Float32Array> {
  const { noise_scale: noise = 0.667, length_scale: length = 1, noise_w: width = 0.8 } = inference;
  const speaker = speakers[voice] ?? (/^\d+$/.test(voice) ? Number(voice) : 0);
  const outputs = await session.run(
    "model",
    {
      input: int64Of(ids, [1, ids.length]),
      input_lengths: int64Of([ids.length], [1]),
      scales: float32(Float32Array.of(noise, length / speed, width), [3]),
      sid: int64Of([speaker], [1]),
    },
    { fetch: ["output"] },
  );
  return floatsOf(outputs, "output");
}
