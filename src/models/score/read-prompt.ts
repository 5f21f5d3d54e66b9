import { JobError } from "../../core/errors.js";
import type { SessionThread } from "../../runtime/ort/session.js";
import { floatsOf, int64, type Tensors } from "../../runtime/tensors/tensor.js";
import { hashNgrams } from "../tokenizer/hashed-ngrams.js";
import type { ScoreSettings } from "./settings.js";

/** What a prompt asks for; what it leaves open is drawn. Classes are numbers of the package. */
export interface Intent {
  readonly bpm: number;
  /** Semitones of the key's tonic above C, 0 to 11. */
  readonly tonic: number;
  readonly mode: number;
  readonly genre: number;
  readonly meter: number;
  readonly energy: number;
  /** Of each instrument: 0 open, 1 wanted, 2 unwanted. */
  readonly wishes: readonly number[];
}

/** Uniform numbers in [0, 1). */
export type Chance = () => number;

const WISHES = 3;
const SIGNS: Readonly<Record<string, string>> = { "#": " sharp ", "♯": " sharp ", "♭": " flat " };

/** The prompt as it is read: signs of keys as words, numbers digit by digit. */
export function spellPrompt(prompt: string): string {
  return prompt
    .replaceAll(/[#♯♭]/gu, (sign) => SIGNS[sign] ?? sign)
    .replaceAll(/[0-9]/g, (digit) => ` ${digit} `);
}

/** Reads a prompt; draws what it leaves open. Throws `invalid_output` where logits are not numbers. */
export async function readPrompt(
  sessions: SessionThread,
  settings: ScoreSettings,
  { prompt, chance }: { readonly prompt: string; readonly chance: Chance },
): Promise<Intent> {
  const { words, idsPerWord } = settings.tokenizer;
  const ids = hashNgrams(spellPrompt(prompt), settings.tokenizer);
  const outputs = await sessions.run("prompt-reader", {
    input_ids: int64(ids, [1, words, idsPerWord]),
  });
  const draw = (name: string) => {
    const shares = softmax(logitsOf(outputs, name), settings.sampler.promptTemperature);
    return { shares, drawn: drawClass(shares, chance()) };
  };
  const tempo = draw("tempo");
  const { lowestBpm, binLog } = settings.tempo;
  return {
    bpm: lowestBpm * Math.exp(binLog * centreNear(tempo.shares, tempo.drawn)),
    tonic: draw("tonic").drawn,
    mode: draw("mode").drawn,
    genre: draw("genre").drawn,
    meter: draw("meter").drawn,
    energy: draw("energy").drawn,
    wishes: largestOfEach(logitsOf(outputs, "wishes"), WISHES),
  };
}

function logitsOf(outputs: Tensors, name: string): Float32Array {
  const logits = floatsOf(outputs, name);
  if (logits.every(Number.isFinite)) return logits;
  throw new JobError("invalid_output", `the prompt reader's ${name} are not numbers`);
}

function softmax(logits: Float32Array, temperature: number): number[] {
  const most = Math.max(...logits);
  const powers = Array.from(logits, (logit) => Math.exp((logit - most) / temperature));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

function drawClass(shares: readonly number[], chance: number): number {
  let reached = 0;
  for (const [index, share] of shares.entries()) {
    reached += share;
    if (chance < reached) return index;
  }
  return shares.length - 1;
}

/** Bins on either side that belong to the hill around a drawn one. */
const HILL_BINS = 3;

/** The hill's centre, in bins with a fraction: finer than the bins are. */
function centreNear(shares: readonly number[], drawn: number): number {
  let [weight, moment] = [0, 0];
  for (let bin = drawn - HILL_BINS; bin <= drawn + HILL_BINS; bin += 1) {
    weight += shares[bin] ?? 0;
    moment += bin * (shares[bin] ?? 0);
  }
  return moment / weight;
}

function largestOfEach(values: Float32Array, size: number): number[] {
  return Array.from({ length: values.length / size }, (_, row) => {
    const own = values.subarray(row * size, (row + 1) * size);
    return own.indexOf(Math.max(...own));
  });
}
