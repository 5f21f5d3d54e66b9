import { openSessions, type SessionThread } from "../../../src/runtime/ort/session.js";
import { float32, floatsOf } from "../../../src/runtime/tensors/tensor.js";
import { bandPower, logarithmicBands, powerSpectra } from "./music-spectra.js";
import { MUSIC_RATE_HZ } from "./music-tempo.js";

const FRAMES = { frameSamples: 1_024, hopSamples: 512 };
const SCALE = { bands: 72, lowestHz: 50, highestHz: 10_000 };
/** Frames that the probe hears at once, about six seconds. */
const WINDOW = 256;
/** Natural logarithms below the loudest that still count. */
const RANGE = 16;

/** The package's judge of instruments: never part of what is served. */
export interface InstrumentProbe {
  /** Score of each instrument, above 0 where it is heard; mono samples at `MUSIC_RATE_HZ`. */
  hear(samples: Float32Array): Promise<readonly number[]>;
  close(): Promise<void>;
}

export async function openInstrumentProbe(path: string): Promise<InstrumentProbe> {
  const sessions = await openSessions({ graphs: { probe: path }, threads: 1, providers: ["cpu"] });
  return {
    hear: (samples) => hear(sessions, samples),
    close: () => sessions.close(),
  };
}

/** The highest score of any stretch: an instrument may rest. */
async function hear(sessions: SessionThread, samples: Float32Array): Promise<readonly number[]> {
  const levels = bandLevels(samples);
  const starts = [0];
  while ((starts.at(-1) ?? 0) + WINDOW * 1.5 <= levels.length)
    starts.push((starts.at(-1) ?? 0) + WINDOW / 2);
  const most: number[] = [];
  for (const start of starts) {
    const bands = float32(stretchOf(levels, start), [1, SCALE.bands, WINDOW]);
    const scores = floatsOf(await sessions.run("probe", { bands }), "logits");
    for (const [at, score] of scores.entries()) most[at] = Math.max(most[at] ?? -Infinity, score);
  }
  return most;
}

/** Natural logarithms of band powers, frame by frame. */
function bandLevels(samples: Float32Array): number[][] {
  const lineHz = MUSIC_RATE_HZ / FRAMES.frameSamples;
  const bands = logarithmicBands({ ...SCALE, lineHz }, FRAMES.frameSamples / 2 + 1);
  return powerSpectra(samples, FRAMES).map((powers) =>
    bands.map((weights) => Math.log(bandPower(powers, weights) + 1e-12)),
  );
}

/** [72, 256] from -1 to 0, below the loudest of the stretch; -1 beyond the end. */
function stretchOf(levels: readonly (readonly number[])[], start: number): Float32Array {
  const frames = levels.slice(start, start + WINDOW);
  const loudest = Math.max(...frames.map((frame) => Math.max(...frame)));
  const stretch = new Float32Array(SCALE.bands * WINDOW).fill(-1);
  for (const [at, frame] of frames.entries()) {
    for (const [band, level] of frame.entries())
      stretch[band * WINDOW + at] = Math.max(-1, (level - loudest) / RANGE);
  }
  return stretch;
}
