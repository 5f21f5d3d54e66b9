import type { Sound } from "../../models/music/music-model.js";

/** 1 dB below full scale, so that lossy encoders do not clip (audiocraft `peak_clip_headroom_db`). */
const CEILING = 10 ** (-1 / 20);
/** Too short to be heard as a fade, long enough to end without a click. */
const FADE_IN_SECONDS = 0.005;
const FADE_OUT_SECONDS = 0.03;

/** The same sound with soft ends, and turned down as a whole where its peak passes -1 dBFS. */
export function finishSound(sound: Sound): Sound {
  const samples = Float32Array.from(sound.samples);
  const length = samples.length / sound.channels;
  const fadeIn = FADE_IN_SECONDS * sound.sampleRateHz;
  const fadeOut = FADE_OUT_SECONDS * sound.sampleRateHz;
  const gain = Math.min(1, CEILING / peakOf(samples));
  for (let index = 0; index < samples.length; index++) {
    const time = index % length;
    const ends = Math.min(1, time / fadeIn, (length - 1 - time) / fadeOut);
    samples[index] = (samples[index] ?? 0) * gain * ends;
  }
  return { ...sound, samples };
}

function peakOf(samples: Float32Array): number {
  let peak = 0;
  for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
  return peak;
}
