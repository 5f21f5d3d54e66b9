import { randomStream } from "../../../src/models/sampling/noise.js";
import { poissonArrivals } from "../arrivals.js";
import type { Arrival } from "./trace.js";

/** Jobs of one tier. */
export interface MixPart {
  readonly tier: string;
  /** Of all jobs, relative to the other parts. */
  readonly share: number;
  /** Compute-seconds for a second of clip. */
  readonly secondsPerUnit: number;
}

export interface TraceOptions {
  readonly shape: "poisson" | "daily" | "burst";
  /** Jobs an hour, on average. */
  readonly perHour: number;
  readonly hours: number;
  readonly mix: readonly MixPart[];
  /** Standard deviation of the logarithm of a job's time around its kind's. */
  readonly spread: number;
  readonly seed: number;
}

/** The busiest hour of a day has nine times the jobs of the quietest: 1 ± 0.8. */
const DAILY_SWING = 0.8;
const DAY_SECONDS = 86_400;
/** Ten minutes out of every two hours bring ten times as much as the others. */
const BURST_EVERY_SECONDS = 7_200;
const BURST_SECONDS = 600;
const BURST_FACTOR = 10;
const SHORTEST_CLIP = 4;
const CLIP_LENGTHS = 7;

/** Clips of 4 to 10 s that arrive by a Poisson process, whose rate may change. The same for the same seed. */
export function generateTrace(options: TraceOptions): Arrival[] {
  const { perHour, hours, seed } = options;
  const peak = perHour * peakOf(options);
  // Enough for the peak to last all the time, with six standard deviations to spare.
  const expected = peak * hours;
  const most = Math.ceil(expected + 6 * Math.sqrt(expected) + 10);
  const thinned = randomStream(seed, 1);
  return poissonArrivals(peak / 3_600, most, seed)
    .map((atMs) => atMs / 1_000)
    .filter((atSeconds, index) => {
      const isWithin = atSeconds < hours * 3_600;
      return isWithin && thinned.at(index) * peakOf(options) < rateAt(options, atSeconds);
    })
    .map((atSeconds, index) => drawJob(options, atSeconds, index));
}

/** Rate over the average one. */
function rateAt({ shape }: TraceOptions, atSeconds: number): number {
  if (shape === "poisson") return 1;
  if (shape === "daily") return 1 - DAILY_SWING * Math.cos((2 * Math.PI * atSeconds) / DAY_SECONDS);
  const isBurst = atSeconds % BURST_EVERY_SECONDS >= BURST_EVERY_SECONDS - BURST_SECONDS;
  return (isBurst ? BURST_FACTOR : 1) / meanOfBursts();
}

function peakOf({ shape }: TraceOptions): number {
  if (shape === "poisson") return 1;
  return shape === "daily" ? 1 + DAILY_SWING : BURST_FACTOR / meanOfBursts();
}

function meanOfBursts(): number {
  return 1 + ((BURST_FACTOR - 1) * BURST_SECONDS) / BURST_EVERY_SECONDS;
}

function drawJob({ mix, spread, seed }: TraceOptions, atSeconds: number, index: number): Arrival {
  const random = randomStream(seed, 2);
  const draw = (nth: number) => random.at(index * 4 + nth);
  const { tier, secondsPerUnit } = pick(mix, draw(0));
  const work = SHORTEST_CLIP + Math.floor(draw(1) * CLIP_LENGTHS);
  // Box and Muller (1958).
  const normal = Math.sqrt(-2 * Math.log(1 - draw(2))) * Math.cos(2 * Math.PI * draw(3));
  const seconds = work * secondsPerUnit * Math.exp(spread * normal);
  return { atSeconds, modality: "video", model: "any", tier, work, seconds };
}

function pick(mix: readonly MixPart[], drawn: number): MixPart {
  const [first] = mix;
  if (first === undefined) throw new Error("the mix of jobs is empty");
  let rest = drawn * mix.reduce((sum, { share }) => sum + share, 0);
  return mix.find(({ share }) => (rest -= share) < 0) ?? first;
}
