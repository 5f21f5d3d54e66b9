import type { Config } from "../../../src/config.js";
import { readPriceTable } from "../../../src/front/ledger/index.js";
import type { SuiteOptions } from "../bench.js";
import { setupsOf } from "../service/stack.js";
import { z } from "zod";
import type { PipelineSetup } from "../../../src/core/modality.js";
import type { PriceTable } from "../../../src/core/prices.js";
import { findModality } from "../../../src/modalities/registry.js";
import {
  type BenchResult,
  type BenchRow,
  distribute,
  type Distribution,
  machine,
} from "../report/measure.js";
import {
  DOLLARS_PER_HOUR,
  costRow,
  coveredMs,
  type MadeRun,
  openSubject,
  rowOf,
  type StageNames,
  stageTimes,
  wallMs,
} from "./pipeline-runs.js";

interface AudioSubjects {
  /** Setup of the first model of a modality; undefined where MODELS_DIR has none. */
  readonly setupOf: (modality: string) => PipelineSetup | undefined;
  readonly prices: PriceTable;
  readonly rounds: number;
  readonly dollarsPerHour: number;
}

interface SoundCase {
  readonly name: string;
  readonly body: Record<string, unknown>;
}

interface SoundKind {
  readonly modality: string;
  readonly stages: StageNames;
  readonly cases: readonly SoundCase[];
}

const SENTENCE = "A red boat sails across the ocean while the sun goes down.";
const PARAGRAPH = [
  SENTENCE,
  "The harbour is quiet, and the lamps along the pier are lit one after the other.",
  "Nobody knows why the old captain never came back from the north.",
  "In the morning there will be bread, coffee and a letter from the islands.",
  "Until then the water keeps the time.",
].join(" ");
const MUSIC = "a calm piano melody over soft strings, 96 bpm";

const durations = z.union([
  z.object({ audioSeconds: z.number() }),
  z.object({ durationSeconds: z.number() }),
]);

const SPEECH: SoundKind = {
  modality: "speech",
  stages: {
    before: "text to phonemes",
    between: "between sentences",
    after: "encoder tail",
  },
  cases: [
    { name: "speech, a sentence", body: speechBody(SENTENCE) },
    { name: "speech, five sentences", body: speechBody(PARAGRAPH) },
    { name: "speech, five sentences as MP3", body: speechBody(PARAGRAPH, "mp3") },
  ],
};

const MUSIC_KIND: SoundKind = {
  modality: "music",
  stages: {
    before: "prompt read",
    between: "choosing notes, noise",
    after: "levels, encoder, check",
  },
  cases: [5, 20].map((seconds) => ({
    name: `music, ${seconds} s`,
    body: { prompt: MUSIC, seconds, seed: 1, response_format: "mp3" },
  })),
};

const HEARING: Omit<SoundKind, "cases"> = {
  modality: "transcription",
  stages: {
    before: "file to features",
    between: "between windows",
    after: "search for words",
  },
};

type Part = Pick<BenchResult, "rows"> & {
  readonly models: readonly string[];
  readonly distributions: readonly Distribution[];
  /** What the first request of each case made. */
  readonly sounds: readonly Uint8Array[];
};

/** Speech, what hears it again, and music: each through its own pipeline, against its playing time. */
export async function runAudio(
  config: Config,
  rounds: number,
  { dollarsPerHour = DOLLARS_PER_HOUR }: SuiteOptions,
): Promise<BenchResult> {
  const prices = await readPriceTable(config.pricesFile);
  const options = { setupOf: await setupsOf(config), prices, rounds, dollarsPerHour };
  const speech = await measureKind(SPEECH, options);
  const hearing = await measureKind({ ...HEARING, cases: hearingCases(speech.sounds) }, options);
  const music = await measureKind(MUSIC_KIND, options);
  const parts = [speech, hearing, music];
  return {
    suite: "audio",
    conditions: {
      ...machine(),
      models: parts.flatMap(({ models }) => models).join(", "),
      rounds,
      "dollars an hour": dollarsPerHour,
      "peak memory MiB": Math.round(process.resourceUsage().maxRSS / 1_024),
    },
    rows: parts.flatMap(({ rows }) => rows),
    distributions: parts.flatMap(({ distributions }) => distributions),
  };
}

function speechBody(input: string, response_format = "wav") {
  return { input, voice: "alloy", response_format, stream_format: "audio" };
}

function hearingCases([sentence, paragraph]: readonly Uint8Array[]): SoundCase[] {
  const sounds = { "a sentence": sentence, "five sentences": paragraph };
  return Object.entries(sounds).flatMap(([name, bytes]) => {
    if (bytes === undefined) return [];
    const file = { filename: "speech.wav", mediaType: "audio/wav", bytes };
    return [{ name: `transcription, ${name}`, body: { file } }];
  });
}

async function measureKind(kind: SoundKind, options: AudioSubjects): Promise<Part> {
  const modality = findModality(kind.modality);
  const setup = options.setupOf(kind.modality);
  if (modality === undefined || setup === undefined)
    return { rows: [], models: [], distributions: [], sounds: [] };
  const subject = await openSubject({ modality, setup, prices: options.prices });
  try {
    const made = new Map<SoundCase, MadeRun[]>();
    const sounds: Uint8Array[] = [];
    for (const one of kind.cases) {
      // The first run loads what later ones find loaded.
      sounds.push((await subject.make(one.body)).bytes);
      made.set(one, []);
    }
    for (let round = 0; round < options.rounds; round += 1)
      for (const [one, runs] of made) runs.push(await subject.make(one.body));
    return {
      models: [subject.modelId],
      sounds,
      rows: [...made].flatMap(([{ name }, runs]) => rowsOf(name, runs, options.dollarsPerHour)),
      distributions: [...made].flatMap(([{ name }, runs]) => timesOf(name, kind.stages, runs)),
    };
  } finally {
    await subject.close();
  }
}

function rowsOf(name: string, runs: readonly MadeRun[], dollarsPerHour: number): BenchRow[] {
  return [
    rowOf(`${name}: playing time / wall (RTFx)`, "s", runs, (run) => [
      playedSeconds(run),
      wallMs(run) / 1_000,
    ]),
    rowOf(`${name}: wall / its session.run time`, "s", runs, (run) => [
      wallMs(run) / 1_000,
      coveredMs(run.runs) / 1_000,
    ]),
    costRow(`${name}: compute a second / price`, runs, { dollarsPerHour, unitsOf: playedSeconds }),
  ];
}

function timesOf(name: string, stages: StageNames, runs: readonly MadeRun[]): Distribution[] {
  const first = runs.flatMap(({ firstChunkAtMs, startedAtMs }) =>
    firstChunkAtMs === null ? [] : [firstChunkAtMs - startedAtMs],
  );
  const times = stageTimes(name, stages, runs);
  if (first.length === 0) return times;
  return [...times, distribute({ what: `${name}: to the first piece`, unit: "ms" }, first)];
}

function playedSeconds({ output }: MadeRun): number {
  const parsed = durations.parse(output);
  return "audioSeconds" in parsed ? parsed.audioSeconds : parsed.durationSeconds;
}
