import { pino } from "pino";
import type { Config } from "../config.js";

/** JSON lines on standard error. Requests, prompts and keys are never given to it. */
export function createLog(config: Pick<Config, "logLevel">, name: string) {
  return pino({ name, level: config.logLevel }, pino.destination(2));
}

export type Log = ReturnType<typeof createLog>;
