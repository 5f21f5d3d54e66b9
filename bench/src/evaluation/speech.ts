import { readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";
import { decodeAudio } from "../../../src/media/decode-audio.js";
import { writeWav } from "../../../src/media/pcm.js";
import { describeExit, startProcessGroup } from "../../../src/media/process-group.js";
import { type Evaluate, type EvaluationContext, mean, readCases, rounded } from "./evaluator.js";
import { measureHardSentences } from "./hard-sentences.js";
import { measureLoudness } from "./loudness.js";
import { wordErrors } from "./words.js";
import { withTemporaryFolder } from "../temporary-folder.js";

const sentence = z.object({
  text: z.string(),
  /** How it is read, in lower case: numbers in words. */
  say: z.string(),
  /** Its words that no training text held. */
  unseen: z.array(z.string()),
});
const output = z.object({ audioSeconds: z.number() });

type Sentence = z.infer<typeof sentence>;

interface Said extends Sentence {
  readonly voice: string;
  /** Mono, signed 16 bit, little-endian, without a header. */
  readonly path: string;
  readonly seconds: number;
  readonly audioSeconds: number;
}

/** Language models of the recogniser by the name of their measure: the packaged one, and a closed one. */
const LANGUAGE_MODELS = { word_error: null, word_error_closed: "sentences.lm" } as const;
const FULL_SCALE = 32_767;
const MAX_SECONDS = 60;

/**
 * Word error of Debian's pocketsphinx on held-out sentences, each read by one voice in turn, as a whole,
 * by voice and of words that training never held; speed, loudness and clipping of the same speech; share of
 * hard sentences that are read as their right words.
 */
export const evaluateSpeech: Evaluate = async (context) => {
  const sentences = await readCases([context.folder, "sentences.jsonl"], sentence, context.limit);
  return await withTemporaryFolder(async (folder) => {
    const said = await sayAll(context, sentences, folder);
    const heard = await hearAll(context, said);
    const [open = []] = Object.values(heard);
    return {
      ...Object.fromEntries(
        Object.entries(heard).map(([name, texts]) => [name, rounded(wordError(said, texts))]),
      ),
      ...errorsByVoice(context, said, open),
      unseen_words_heard: rounded(shareOfUnseen(said, open)),
      ...(await measureSound(context, said, folder)),
      hard_sentences: rounded(await measureHardSentences(context)),
    };
  });
};

/** As it is made: whole speech leaves as a file. */
const STREAMED_WAV = { response_format: "wav", stream_format: "audio" } as const;

async function sayAll(
  context: EvaluationContext,
  sentences: readonly Sentence[],
  folder: string,
): Promise<Said[]> {
  const { model, signal, ffmpegPath } = context;
  const { voices = ["default"] } = model;
  // The first run loads what later ones find loaded.
  await context.make({
    input: "Good morning to you all.",
    voice: voices[0],
    ...STREAMED_WAV,
  });
  const said: Said[] = [];
  for (const [index, one] of sentences.entries()) {
    const voice = voices[index % voices.length] ?? "default";
    const made = await context.make({ input: one.text, voice, ...STREAMED_WAV });
    const bytes = Buffer.concat(
      made.chunks.flatMap((chunk) => (chunk.type === "bytes" ? [chunk.bytes] : [])),
    );
    const path = join(folder, `${index}.raw`);
    const decode = { sampleRateHz: HEARD_RATE_HZ, maxSeconds: MAX_SECONDS, param: "speech" };
    await decodeAudio(bytes, { path, signal, ffmpegPath, ...decode });
    const { audioSeconds } = output.parse(made.output);
    said.push({ ...one, voice, path, seconds: made.seconds, audioSeconds });
    context.progress(said.length, 2 * sentences.length);
  }
  return said;
}

/** What was heard of each sentence, by measure. */
async function hearAll(
  context: EvaluationContext,
  said: readonly Said[],
): Promise<Record<string, readonly string[]>> {
  const heard: Record<string, readonly string[]> = {};
  const paths = said.map(({ path }) => path);
  for (const [name, file] of Object.entries(LANGUAGE_MODELS)) {
    const languageModel = file === null ? undefined : join(context.folder, file);
    heard[name] = await hearSpeech(paths, { languageModel, signal: context.signal });
  }
  context.progress(2 * said.length, 2 * said.length);
  return heard;
}

/** Words put in, left out or changed, as a share of those that were said. */
function wordError(said: readonly Said[], heard: readonly string[]): number {
  const errors = said.map((one, index) => wordErrors(one.say, heard[index] ?? ""));
  const words = said.map(({ say }) => say.split(" ").length);
  return errors.reduce(add, 0) / Math.max(1, words.reduce(add, 0));
}

const add = (sum: number, value: number) => sum + value;

function errorsByVoice(
  { model: { voices = [] } }: EvaluationContext,
  said: readonly Said[],
  heard: readonly string[],
): Record<string, number> {
  const errors = voices.map((voice) => {
    const places = said.flatMap((one, index) => (one.voice === voice ? [index] : []));
    const own = places.flatMap((place) => said[place] ?? []);
    const texts = places.map((place) => heard[place] ?? "");
    return [`word_error ${voice}`, rounded(wordError(own, texts))] as const;
  });
  return Object.fromEntries(errors);
}

function shareOfUnseen(said: readonly Said[], heard: readonly string[]): number {
  const found = said.flatMap(({ unseen }, index) => {
    const words = new Set((heard[index] ?? "").split(" "));
    return unseen.map((word) => (words.has(word) ? 1 : 0));
  });
  return mean(found);
}

async function measureSound(
  context: EvaluationContext,
  said: readonly Said[],
  folder: string,
): Promise<Record<string, number>> {
  const samples = await samplesOf(said);
  const levels: number[] = [];
  for (const voice of new Set(said.map((one) => one.voice))) {
    const own = await samplesOf(said.filter((one) => one.voice === voice));
    levels.push(await loudnessOf(own, folder, context));
  }
  const clipped = samples.reduce((count, sample) => count + (Math.abs(sample) >= 1 ? 1 : 0), 0);
  const spent = said.reduce((sum, { seconds }) => sum + seconds, 0);
  const lasting = said.reduce((sum, { audioSeconds }) => sum + audioSeconds, 0);
  return {
    real_time_factor: rounded(spent / Math.max(1e-9, lasting)),
    loudness_lufs: rounded(await loudnessOf(samples, folder, context)),
    loudness_spread_lu: rounded(Math.max(...levels) - Math.min(...levels)),
    clipped_share: rounded(clipped / Math.max(1, samples.length)),
  };
}

/** All that was said, one sentence behind the other. */
async function samplesOf(said: readonly Said[]): Promise<Float32Array> {
  const bytes = Buffer.concat(await Promise.all(said.map(({ path }) => readFile(path))));
  return Float32Array.from(
    { length: Math.floor(bytes.length / 2) },
    (_, index) => bytes.readInt16LE(2 * index) / FULL_SCALE,
  );
}

async function loudnessOf(
  samples: Float32Array,
  folder: string,
  { ffmpegPath }: EvaluationContext,
): Promise<number> {
  const path = join(folder, "said.wav");
  await writeWav(path, samples, { sampleRateHz: HEARD_RATE_HZ, channels: 1 });
  const { integratedLufs } = await measureLoudness(path, ffmpegPath);
  return integratedLufs;
}

/** What the packaged acoustic model listens to. */
const HEARD_RATE_HZ = 16_000;
const PROGRAM = "pocketsphinx_batch";
/** Debian's pocketsphinx-en-us. */
const MODEL_FOLDER = "/usr/share/pocketsphinx/model/en-us";

export interface HearOptions {
  /** An ARPA file; the packaged trigrams where absent. */
  readonly languageModel?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * What Debian's pocketsphinx hears in files of one folder (mono, signed 16 bit, 16 kHz, no header), in
 * lower case. Throws a sentence that names the packages where the program is not installed.
 */
async function hearSpeech(
  paths: readonly string[],
  options: HearOptions,
): Promise<readonly string[]> {
  if (paths.length === 0) return [];
  return await withTemporaryFolder(async (folder) => {
    const [list, heard] = [join(folder, "list"), join(folder, "heard")];
    await writeFile(list, paths.map((path) => `${basename(path, ".raw")}\n`).join(""));
    const [first = ""] = paths;
    const model = (name: string) => join(MODEL_FOLDER, name);
    const settings = {
      hmm: model("en-us"),
      dict: model("cmudict-en-us.dict"),
      lm: options.languageModel ?? model("en-us.lm.bin"),
      adcin: "yes",
      cepdir: dirname(first),
      cepext: ".raw",
      ctl: list,
      hyp: heard,
      logfn: join(folder, "log"),
    };
    const args = Object.entries(settings).flatMap(([name, value]) => [`-${name}`, value]);
    await run(args, options.signal);
    return parseHypotheses(await readFile(heard, "utf8"), paths.length);
  });
}

/** Lines of `words (name score)`, in the order of the list. */
function parseHypotheses(text: string, count: number): string[] {
  const lines = text.split("\n").map((line) =>
    line
      .replace(/\(\S+ -?\d+\)\s*$/, "")
      .replaceAll(/\(\d+\)/g, "")
      .trim(),
  );
  return Array.from({ length: count }, (_, index) => lines[index] ?? "");
}

async function run(args: readonly string[], signal: AbortSignal): Promise<void> {
  const group = startProcessGroup(PROGRAM, args, { signal });
  try {
    group.child.stdin.end();
    group.child.stdout.resume();
    const exit = await group.exited;
    signal.throwIfAborted();
    if (exit.code === 0) return;
    const needed = "speech is judged by Debian's packages pocketsphinx and pocketsphinx-en-us";
    throw new Error(`${needed}; ${PROGRAM}: ${describeExit(exit, group.stderrTail())}`);
  } finally {
    group.kill();
  }
}
