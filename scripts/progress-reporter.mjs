// Where a test run stands, for logs: a terminal has vitest's own summary line.
import { performance } from "node:perf_hooks";
import { say } from "./steps.mjs";

const EVERY_MS = 15_000;

/** Says at most every 15 s how many files are done, and how long it took. */
export default class ProgressReporter {
  #started = performance.now();
  #said = performance.now();
  #files = 0;
  #done = 0;

  onTestRunStart(specifications) {
    this.#files = specifications.length;
  }

  onTestModuleEnd() {
    this.#done += 1;
    const now = performance.now();
    if (process.stdout.isTTY || now - this.#said < EVERY_MS) return;
    this.#said = now;
    const seconds = Math.round((now - this.#started) / 1000);
    say(`… ${this.#done} of ${this.#files} files after ${seconds} s`);
  }
}
