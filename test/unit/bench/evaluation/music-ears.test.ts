import { expect, test } from "vitest";
import {
  countClicks,
  hearKey,
  hearsHalfTempo,
  hearTempo,
  leadingSilence,
  MUSIC_RATE_HZ,
} from "#framemill/bench/evaluation/music-ears.js";

const SECONDS = 10;

/** Begins and dies away without a corner. */
const envelope = (time: number) => (1 - Math.exp(-time / 0.01)) ** 2 * Math.exp(-8 * time);

/** Tones of MIDI numbers, one each `stepSeconds`. */
function play(notes: readonly number[], stepSeconds: number): Float32Array {
  const samples = new Float32Array(SECONDS * MUSIC_RATE_HZ);
  for (let number = 0; number * stepSeconds < SECONDS; number += 1) {
    const hertz = 440 * 2 ** (((notes[number % notes.length] ?? 69) - 69) / 12);
    const start = Math.round(number * stepSeconds * MUSIC_RATE_HZ);
    for (let at = start; at < samples.length; at += 1) {
      const time = (at - start) / MUSIC_RATE_HZ;
      if (time > 1) break;
      const tone = Math.sin(2 * Math.PI * hertz * time) * envelope(time);
      samples[at] = (samples[at] ?? 0) + 0.2 * tone;
    }
  }
  return samples;
}

test.each([83, 120, 151])("hears %d beats a minute from an asked tempo beside it", (bpm) => {
  const samples = play([60, 64, 67, 72], 60 / bpm);
  expect(Math.abs(hearTempo(samples, bpm * 1.1) / bpm - 1)).toBeLessThan(0.01);
});

test("tells a key from its parallel and from its relative", () => {
  expect(hearKey(play([62, 66, 69, 67, 71, 74, 69, 73, 64, 62], 0.25))).toEqual({
    tonic: 2,
    mode: "major",
  });
  expect(hearKey(play([57, 60, 64, 62, 65, 69, 64, 68, 71, 69], 0.25))).toEqual({
    tonic: 9,
    mode: "minor",
  });
});

test("counts a jump as one click, and music as none", () => {
  const samples = play([60, 64, 67, 72], 0.3);
  expect(countClicks(samples)).toBe(0);
  const cut = Float32Array.from(samples, (sample, at) => (at > 50_000 ? -sample - 0.2 : sample));
  expect(countClicks(cut)).toBe(1);
});

test("hears that a piece has a note only every second beat", () => {
  const samples = play([60, 64, 67, 72], 0.5);
  expect(hearsHalfTempo(samples, 120)).toBe(false);
  expect(hearsHalfTempo(samples, 240)).toBe(true);
});

test("counts the silence before the first note", () => {
  const music = play([60, 64], 0.5);
  const late = new Float32Array(music.length + MUSIC_RATE_HZ / 2);
  late.set(music, MUSIC_RATE_HZ / 2);
  expect(leadingSilence(music)).toBeLessThan(0.05);
  expect(leadingSilence(late)).toBeCloseTo(0.5, 1);
});
