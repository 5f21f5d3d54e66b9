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
  process.stderr.write(`${spinner ? CLEAR_LINE : ""}${line}\n`);
}

/**
 * Runs one step, says its title before and its time after; a terminal shows the seconds in between.
 * @template T @param {string} title @param {() => Promise<T>} work @returns {Promise<T>}
 */
export async function step(title, work) {
  const started = performance.now();
  say(`${title} …`);
  const stopClock = clock(title, started);
  try {
    const result = await work();
    taken.push({ title, seconds: secondsSince(started) });
    return result;
  } finally {
    stopClock();
    say(`${title}: ${secondsSince(started)} s`);
  }
}

/** Steps that run, side by side; a terminal's last line shows the latest of them. */
const running = [];
const FRAMES = Array.from("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏");
const CLEAR_LINE = "\r\x1b[K";
let spinner;

/** Shows a step's seconds until the function that is returned is called. */
function clock(title, started) {
  if (!process.stderr.isTTY) return () => {};
  const one = { title, started };
  running.push(one);
  spinner ??= setInterval(draw, 100).unref();
  return () => {
    running.splice(running.indexOf(one), 1);
    if (running.length > 0) return;
    clearInterval(spinner);
    spinner = undefined;
    process.stderr.write(CLEAR_LINE);
  };
}

function draw() {
  const { title, started } = running.at(-1);
  const tenths = Math.floor((performance.now() - started) / 100);
  const frame = FRAMES[tenths % FRAMES.length];
  process.stderr.write(`${CLEAR_LINE}${frame} ${title} … ${Math.floor(tenths / 10)} s`);
}

/** The steps so far, for a closing summary. */
export function stepsTaken() {
  return taken.map(({ title, seconds }) => `${title} ${seconds} s`);
}

/** Seconds with one decimal since a `performance.now()` reading. @param {number} started */
export function secondsSince(started) {
  return ((performance.now() - started) / 1000).toFixed(1);
}
