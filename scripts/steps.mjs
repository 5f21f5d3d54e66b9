// What the scripts say: one line per step on stderr, so that stdout stays the command's own.
import { performance } from "node:perf_hooks";

/** A foreseen failure: its message is the whole story, no stack is printed. */
export class Refusal extends Error {
  /** @param {string} sentence @param {number} [exitCode] */
  constructor(sentence, exitCode = 1) {
    super(sentence);
    this.exitCode = exitCode;
  }
}

const taken = [];

/** Prints one line. @param {string} line */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

/**
 * Runs one step, says its title before and its time after.
 * @template T @param {string} title @param {() => Promise<T>} work @returns {Promise<T>}
 */
export async function step(title, work) {
  const started = performance.now();
  say(`${title} …`);
  const result = await work();
  const seconds = secondsSince(started);
  taken.push({ title, seconds });
  say(`${title}: done in ${seconds} s`);
  return result;
}

/** The steps so far, for a closing summary. */
export function stepsTaken() {
  return taken.map(({ title, seconds }) => `${title} ${seconds} s`);
}

/** Seconds with one decimal since a `performance.now()` reading. @param {number} started */
export function secondsSince(started) {
  return ((performance.now() - started) / 1000).toFixed(1);
}
