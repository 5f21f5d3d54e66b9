import { pino } from "pino";
import type { Config } from "../config.js";

/** JSON lines on standard error. Requests, prompts and keys are never given to it. */
export function createLog(config: Pick<Config, "logLevel">, name: string) {
  return pino({ name, level: config.logLevel }, pino.destination(2));
}

export type Log = ReturnType<typeof createLog>;

let log: Log | undefined;
const held: Error[] = [];

/** From now on warnings of Node and of libraries wait for a log, which Node would print as text. */
export function holdWarnings(): void {
  process.removeAllListeners("warning");
  process.on("warning", (warning) => {
    if (log === undefined) held.push(warning);
    else note(log, warning);
  });
}

/** Where they go, and those that came before. */
export function logWarnings(to: Log): void {
  log = to;
  for (const warning of held.splice(0)) note(to, warning);
}

function note(to: Log, { name: warning, message: reason, stack }: Error): void {
  to.warn({ warning, reason }, "process warning");
  to.debug({ warning, stack }, "process warning");
}
