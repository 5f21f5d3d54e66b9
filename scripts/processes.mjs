// Child processes: none outlives this one, and a signal to this one reaches them all.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { Refusal } from "./steps.mjs";

/** Longer than DRAIN_MS, so that a worker may finish its job first. */
const KILL_AFTER_MS = 40_000;
/** npm forwards a Ctrl-C that the terminal has already sent to everybody: one of the two counts. */
const SAME_SIGNAL_MS = 200;
/** The first lines of a failed command's output name the cause. */
const SHOWN_LINES = 40;

/** Running children, and how a signal is sent to each. */
const children = new Map();
let lastSignalMs = 0;
let stoppedBy;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => forward(signal));

// npm runs its scripts in a shell, which does not hand on the signal that ends it.
if (process.env["npm_lifecycle_event"]) {
  const shell = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watch);
    forward("SIGTERM");
  }, 1_000).unref();
}

/** Hands a signal on; with no child left to wait for, ends. @param {NodeJS.Signals} signal */
function forward(signal) {
  if (children.size === 0) process.exit(exitCodeOf(null, signal));
  stoppedBy = signal;
  const now = Date.now();
  if (now - lastSignalMs < SAME_SIGNAL_MS) return;
  lastSignalMs = now;
  for (const send of children.values()) send(signal);
  setTimeout(() => children.forEach((send) => send("SIGKILL")), KILL_AFTER_MS).unref();
}

function start(command, args, options) {
  if (stoppedBy) throw new Refusal(`Stopped by ${stoppedBy}.`, exitCodeOf(null, stoppedBy));
  const child = spawn(command, args, options);
  // A Ctrl-C has reached the terminal's process group, and this child in it, without us.
  track(child, (signal) => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
  return child;
}

function track(child, send) {
  children.set(child, send);
  child.once("exit", () => children.delete(child));
  child.once("error", () => children.delete(child));
}

/** 128 + the signal's number, as shells do. */
function exitCodeOf(code, signal) {
  return code ?? 128 + (constants.signals[signal] ?? 0);
}

/**
 * Runs a command on this terminal and gives its exit code; signals and the terminal pass through.
 * @param {string} command @param {readonly string[]} args @param {import("node:child_process").SpawnOptions} [options]
 * @returns {Promise<number>}
 */
export function passThrough(command, args, options = {}) {
  return exitOf(start(command, args, { stdio: "inherit", ...options }));
}

/**
 * Hands signals on to a child's process group, as a terminal would, and gives its exit code.
 * @param {import("node:child_process").ChildProcess} leader @returns {Promise<number>}
 */
export function exitOfGroup(leader) {
  const { pid } = leader;
  if (pid !== undefined) track(leader, (signal) => process.kill(-pid, signal));
  return exitOf(leader);
}

function exitOf(child) {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve(exitCodeOf(code, signal)));
  });
}

/**
 * Runs a command quietly and gives its exit code and output; a command that is not there gives 127.
 * @param {string} command @param {readonly string[]} args
 * @param {Object} [options] spawn's, and `input` for its stdin
 * @returns {Promise<{ code: number, output: string }>} stdout and stderr together
 */
export function capture(command, args, { input, ...options } = {}) {
  return new Promise((resolve) => {
    const stdio = [input ? "pipe" : "ignore", "pipe", "pipe"];
    const child = start(command, args, { stdio, ...options });
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (output += chunk));
    child.stdin?.on("error", () => {}); // a child that ends early says why in its output
    child.stdin?.end(input);
    child.once("error", (error) => resolve({ code: 127, output: error.message }));
    child.once("close", (code, signal) => resolve({ code: exitCodeOf(code, signal), output }));
  });
}

/**
 * Runs a command quietly; when it fails, its output is shown and the sentence ends the run.
 * @param {string} sentence @param {string} command @param {readonly string[]} args
 * @param {import("node:child_process").SpawnOptions} [options]
 */
export async function mustRun(sentence, command, args, options) {
  const { code, output } = await capture(command, args, options);
  if (code !== 0) throw new Refusal(`${beginning(output)}\n${sentence}`, code > 128 ? code : 1);
  return output;
}

function beginning(output) {
  const lines = output.trimEnd().split("\n");
  const more = lines.length - SHOWN_LINES;
  return more > 0
    ? [...lines.slice(0, SHOWN_LINES), `… and ${more} lines more`].join("\n")
    : lines.join("\n");
}
