import { runFfmpeg } from "./ffmpeg.js";
import { writeWav } from "./pcm.js";

const SAMPLE_RATE_HZ = 48_000;
const CHANNELS = 2;
const MIN_SECONDS = 2;
const MAX_SECONDS = 120;
/** A bed that is shorter than its clip goes over into its own beginning for so long. */
const CROSSFADE_SECONDS = 1;
const FADE_IN_SECONDS = 0.1;
const FADE_OUT_SECONDS = 0.5;

/** The sound that goes below clips of a model which makes none. */
export interface SoundBed {
  /** Writes a WAV file of `seconds`, faded at both ends. `place`, 0 to 1, says from where of the bed. */
  write(path: string, stretch: { readonly seconds: number; readonly place: number }): Promise<void>;
}

/** Reads a sound file of 2 to 120 s whole. Throws an error that names it where it is none, or of another length. */
export async function openSoundBed(path: string, ffmpegPath: string): Promise<SoundBed> {
  const bed = await decode(path, ffmpegPath);
  const seconds = bed[0].length / SAMPLE_RATE_HZ;
  if (seconds < MIN_SECONDS || seconds > MAX_SECONDS) {
    const length = seconds > MAX_SECONDS ? "more" : seconds.toFixed(1);
    throw new Error(`${path} must be ${MIN_SECONDS} to ${MAX_SECONDS} s of sound, got ${length}`);
  }
  return {
    async write(file, stretch) {
      const planar = new Float32Array(CHANNELS * Math.round(stretch.seconds * SAMPLE_RATE_HZ));
      const count = planar.length / CHANNELS;
      for (const [channel, samples] of bed.entries())
        cutStretch(samples, stretch.place, planar.subarray(channel * count, (channel + 1) * count));
      await writeWav(file, planar, { channels: CHANNELS, sampleRateHz: SAMPLE_RATE_HZ });
    },
  };
}

/** Left and right samples. */
async function decode(path: string, ffmpegPath: string): Promise<[Float32Array, Float32Array]> {
  const input = ["-v", "error", "-nostdin", "-i", `file:${path}`, "-map", "0:a:0"];
  // One second more than allowed, so that "too long" is seen and not cut.
  const output = ["-t", `${MAX_SECONDS + 1}`, "-ac", `${CHANNELS}`, "-ar", `${SAMPLE_RATE_HZ}`];
  const { stdout } = await runFfmpeg([...input, ...output, "-f", "f32le", "pipe:1"], {
    ffmpegPath,
  }).catch((cause: unknown) => {
    throw new Error(`${path} could not be read as sound`, { cause });
  });
  const samples = new Float32Array(stdout.slice().buffer);
  const count = samples.length / CHANNELS;
  const channel = (index: number) =>
    Float32Array.from({ length: count }, (_, time) => samples[time * CHANNELS + index] ?? 0);
  return [channel(0), channel(1)];
}

/** Fills `cut` from one channel of a bed: in one piece where it is long enough, else in a loop. */
function cutStretch(bed: Float32Array, place: number, cut: Float32Array): void {
  const spare = bed.length - cut.length;
  const overlap = spare < 0 ? CROSSFADE_SECONDS * SAMPLE_RATE_HZ : 0;
  const period = bed.length - overlap;
  const start = Math.floor(place * (spare < 0 ? period : spare));
  const fadeIn = FADE_IN_SECONDS * SAMPLE_RATE_HZ;
  const fadeOut = FADE_OUT_SECONDS * SAMPLE_RATE_HZ;
  for (let time = 0; time < cut.length; time += 1) {
    const at = (start + time) % period;
    const fade = Math.min(1, time / fadeIn, (cut.length - 1 - time) / fadeOut);
    cut[time] = fade * (at < overlap ? seam(bed, at, overlap) : (bed[at] ?? 0));
  }
}

/** The beginning, louder and louder, over what the bed ends with, at the same power. */
function seam(bed: Float32Array, at: number, overlap: number): number {
  const angle = ((at / overlap) * Math.PI) / 2;
  const ending = bed[bed.length - overlap + at] ?? 0;
  return Math.sin(angle) * (bed[at] ?? 0) + Math.cos(angle) * ending;
}
