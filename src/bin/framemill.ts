#!/usr/bin/env node
import { CommanderError } from "commander";
import { messageOf } from "../core/errors.js";
import { createProgram } from "./program.js";
import { UsageError } from "./option-values.js";

const FAILED = 1;
const MISUSED = 2;
/** What a shell says of a program that SIGPIPE ends; Node ignores that signal. */
const UNREAD = 128 + 13;

// Whoever read the output has left, as `| head` does.
process.stdout.on("error", (thrown: NodeJS.ErrnoException) => {
  if (thrown.code === "EPIPE") process.exit(UNREAD);
  throw thrown;
});

try {
  await (await createProgram()).parseAsync();
} catch (thrown) {
  // Commander has said already what was wrong; its 0 is that of --help and --version.
  if (thrown instanceof CommanderError) process.exitCode = thrown.exitCode === 0 ? 0 : MISUSED;
  else {
    process.stderr.write(`framemill: ${messageOf(thrown)}\n`);
    process.exitCode = thrown instanceof UsageError ? MISUSED : FAILED;
  }
}
