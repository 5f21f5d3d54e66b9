import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { decodeAudio } from "../../../src/media/decode-audio.js";
import { measureLoudness } from "./loudness.js";
import { openPcm } from "../../../src/media/pcm.js";
import { MUSIC_FORMATS } from "../../../src/modalities/music/request.js";
import { type Evaluate, type EvaluationContext, mean, readCases, rounded } from "./evaluator.js";
import {
  countClicks,
  hearKey,
  hearsHalfTempo,
  hearTempo,
  leadingSilence,
  type InstrumentProbe,
  MUSIC_RATE_HZ,
  openInstrumentProbe,
} from "./music-ears.js";

const piece = z.object({
  prompt: z.string(),
  seconds: z.int(),
  seed: z.int(),
  response_format: z.enum(MUSIC_FORMATS),
  /** What the prompt states; absent where it does not. */
  bpm: z.number().optional(),
  tonic: z.int().min(0).max(11).optional(),
  mode: z.enum(["major", "minor"]).optional(),
  /** Instruments that must sound, and that must not. */
  wanted: z.array(z.string()).default([]),
  unwanted: z.array(z.string()).default([]),
});

type Piece = z.infer<typeof piece>;

/** What was heard of one piece; a list is empty where its prompt states nothing of the kind. */
interface Heard {
  readonly tempoErrors: readonly number[];
  readonly halfTempos: readonly number[];
  readonly keysRight: readonly number[];
  readonly modesRight: readonly number[];
  readonly wantedHeard: readonly number[];
  readonly unwantedHeard: readonly number[];
  readonly silentSeconds: number;
  readonly clicks: number;
  readonly truePeakDb: number;
  readonly loudnessLufs: number;
  readonly seconds: number;
  readonly makingSeconds: number;
}

const TEMPO_TOLERANCE = 0.03;
const CLICK_RATE_HZ = 44_100;
const MAX_SECONDS = 300;

/**
 * Tempo, key and instruments of held-out prompts as they are heard in the finished files, and whether
 * these begin with silence, clip or click.
 */
export const evaluateMusic: Evaluate = async (context) => {
  const { folder, limit, signal } = context;
  const pieces = await readCases([folder, "prompts.jsonl"], piece, limit);
  const instruments = z
    .array(z.string())
    .parse(JSON.parse(await readFile(join(folder, "instruments.json"), "utf8")));
  const probe = await openInstrumentProbe(join(folder, "probe.onnx"));
  const scratch = await mkdtemp(join(tmpdir(), "framemill-music-"));
  const heard: Heard[] = [];
  try {
    for (const one of pieces) {
      signal.throwIfAborted();
      heard.push(await makeAndHear(one, { context, probe, instruments, scratch }));
      context.progress(heard.length, pieces.length);
    }
  } finally {
    await probe.close();
    await rm(scratch, { recursive: true, force: true });
  }
  return summarise(heard);
};

interface Ears {
  readonly context: EvaluationContext;
  readonly probe: InstrumentProbe;
  /** Names of the probe's scores. */
  readonly instruments: readonly string[];
  readonly scratch: string;
}

async function makeAndHear(asked: Piece, ears: Ears): Promise<Heard> {
  const { context, probe, instruments } = ears;
  const { prompt, seconds, seed, response_format } = asked;
  const body = { model: context.model.id, prompt, seconds, seed, response_format };
  const made = await context.make(body);
  const path = made.files.get("content") ?? "";
  const samples = await decode(path, MUSIC_RATE_HZ, ears);
  const scores = await probe.hear(samples);
  const isHeard = (name: string) => ((scores[instruments.indexOf(name)] ?? 0) > 0 ? 1 : 0);
  const { tonic, mode, bpm } = asked;
  const key = hearKey(samples);
  const loudness = await measureLoudness(path, context.ffmpegPath);
  return {
    tempoErrors: bpm === undefined ? [] : [Math.abs(hearTempo(samples, bpm) / bpm - 1)],
    halfTempos: bpm === undefined ? [] : [hearsHalfTempo(samples, bpm) ? 1 : 0],
    keysRight: tonic === undefined ? [] : [key.tonic === tonic && key.mode === mode ? 1 : 0],
    modesRight: mode === undefined ? [] : [key.mode === mode ? 1 : 0],
    wantedHeard: asked.wanted.map(isHeard),
    unwantedHeard: asked.unwanted.map(isHeard),
    silentSeconds: leadingSilence(samples),
    clicks: countClicks(await decode(path, CLICK_RATE_HZ, ears)),
    truePeakDb: loudness.truePeakDb,
    loudnessLufs: loudness.integratedLufs,
    seconds,
    makingSeconds: made.seconds,
  };
}

/** Mono samples of a finished file. */
async function decode(
  path: string,
  sampleRateHz: number,
  { context, scratch }: Ears,
): Promise<Float32Array> {
  const { signal, ffmpegPath } = context;
  const raw = join(scratch, "samples.raw");
  const options = { sampleRateHz, maxSeconds: MAX_SECONDS, param: "music", signal, ffmpegPath };
  const count = await decodeAudio(await readFile(path), { path: raw, ...options });
  const file = await openPcm(raw);
  try {
    return await file.read(0, count);
  } finally {
    await file.close();
  }
}

function summarise(heard: readonly Heard[]): Record<string, number> {
  const all = (pick: (one: Heard) => readonly number[]) => heard.flatMap(pick);
  const errors = all(({ tempoErrors }) => tempoErrors);
  const sum = (pick: (one: Heard) => number) => heard.reduce((total, one) => total + pick(one), 0);
  const seconds = sum((one) => one.seconds);
  const levels = heard.map(({ loudnessLufs }) => loudnessLufs);
  return {
    tempo_right: rounded(mean(errors.map((error) => (error <= TEMPO_TOLERANCE ? 1 : 0)))),
    half_tempo: rounded(mean(all(({ halfTempos }) => halfTempos))),
    leading_silence_seconds: rounded(Math.max(...heard.map(({ silentSeconds }) => silentSeconds))),
    key_right: rounded(mean(all(({ keysRight }) => keysRight))),
    mode_right: rounded(mean(all(({ modesRight }) => modesRight))),
    instruments_heard: rounded(mean(all(({ wantedHeard }) => wantedHeard))),
    unwanted_heard: rounded(mean(all(({ unwantedHeard }) => unwantedHeard))),
    true_peak_dbfs: rounded(Math.max(...heard.map(({ truePeakDb }) => truePeakDb))),
    clicks_per_minute: rounded((60 * sum(({ clicks }) => clicks)) / seconds),
    loudness_spread_lu: rounded(Math.max(...levels) - Math.min(...levels)),
    real_time_factor: rounded(sum(({ makingSeconds }) => makingSeconds) / seconds),
  };
}
