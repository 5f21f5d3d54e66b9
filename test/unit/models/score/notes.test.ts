import { expect, test } from "vitest";
import { notesOf } from "#framemill/models/score/play-notes.js";
import type { Plan } from "#framemill/models/score/plan.js";
import type { ScoreSettings } from "#framemill/models/score/settings.js";

const HELD = 0;
const STOP = 1;
const FIRST = 2;

const settings: ScoreSettings = {
  sampleRateHz: 44_100,
  synthesiser: { windowSamples: 32_768, noiseContextSamples: 254 },
  room: { windowSamples: 131_072, contextSamples: 33_280 },
  tempo: { lowestBpm: 40, binLog: 0.024, paceLog: 0.2, paces: 9 },
  beats: [4, 3],
  stepsPerBeat: 4,
  tracks: ["lead", "drums"],
  parts: [
    { name: "kick", track: 1, pan: 0, sounds: [14] },
    { name: "lead", track: 0, pan: 0.1, lowestNote: 48 },
  ],
  repeats: [0, 4],
  barLags: [1],
  stepLags: [1],
  tokens: {
    held: HELD,
    stop: STOP,
    firstPitch: FIRST,
    noStep: 50,
    noBar: 64,
    noChord: 60,
    oldest: 31,
  },
  tailSeconds: [],
  tokenizer: { kind: "hashed-ngram", buckets: 16, words: 1, idsPerWord: 1, gram: 4 },
  sampler: {
    promptTemperature: 1,
    arranger: { temperature: 1, least: 0 },
    planner: { temperature: 1, least: 0 },
    composer: { temperature: 1, least: 0 },
  },
  mostBars: 96,
};

function planWith(players: readonly number[], tonic: number): Plan {
  const intent = { bpm: 150, tonic, mode: 0, genre: 0, meter: 0, energy: 0, wishes: [] };
  return { intent, players, bars: [[]], stepsPerBar: 16, secondsPerStep: 0.1 };
}

const write = (kick: number, lead: number, delay = 0) => ({
  tokens: [kick, lead],
  extras: [0.9, 0.6, delay],
});

test("a note lasts until its voice stops or begins another, in the key asked for", () => {
  const steps = [write(0, FIRST + 12), write(0, HELD), write(0, STOP), write(0, FIRST)];
  const [first, second] = notesOf(settings, planWith([6, 0], 9), steps);
  // A above the voice's C is played below it.
  expect(first).toMatchObject({ sound: 5, pitch: 57, velocity: 0.6, startSeconds: 0, pan: 0.1 });
  expect(first?.seconds).toBeCloseTo(0.2);
  expect(second).toMatchObject({ pitch: 45, seconds: Infinity });
});

test("a step that is played late begins late", () => {
  const [note] = notesOf(settings, planWith([1, 0], 0), [write(0, 0), write(0, FIRST, 0.5)]);
  expect(note?.startSeconds).toBeCloseTo(0.15);
});

test("drums play their own sounds, and tracks without a player are silent", () => {
  const steps = [write(1, FIRST)];
  expect(notesOf(settings, planWith([0, 15], 3), steps)).toMatchObject([{ sound: 14, pitch: 60 }]);
  expect(notesOf(settings, planWith([0, 0], 3), steps)).toEqual([]);
});
