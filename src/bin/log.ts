import { styleText } from "node:util";
import { pino } from "pino";
import type { Config } from "../config.js";

/**
 * JSON lines on standard error, or lines for a person where that is a terminal. Requests, prompts and
 * keys are never given to it.
 */
export function createLog(config: Pick<Config, "logLevel">, name: string) {
  const { stderr } = process;
  const terminal = { write: (line: string) => stderr.write(toTerminalLine(line)) };
  const destination = stderr.isTTY ? terminal : pino.destination(2);
  return pino({ name, level: config.logLevel }, destination);
}

export type Log = ReturnType<typeof createLog>;

const WARN = 40;
const ERROR = 50;
/** What says which process writes: on a terminal there is one service. */
const OF_PROCESS = new Set(["level", "time", "pid", "hostname", "name", "msg", "processId"]);
/** Where messages end and their fields begin. */
const MESSAGE_COLUMNS = 24;

/** A line of JSON as `12:30:01  model loaded  model service-chat-1 · load 0.6 s`; plain where `NO_COLOR` is set. */
function toTerminalLine(json: string): string {
  // pino wrote it.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const record = JSON.parse(json) as Readonly<Record<string, unknown>>;
  const { level, time, msg } = record;
  const stream = process.stderr;
  const clock = new Date(Number(time)).toTimeString().slice(0, 8);
  const fields = Object.entries(record)
    .filter(([name]) => !OF_PROCESS.has(name))
    .map(([name, value]) => describe(name, value));
  const message = (typeof msg === "string" ? msg : "").padEnd(
    fields.length > 0 ? MESSAGE_COLUMNS : 0,
  );
  const said =
    Number(level) >= ERROR
      ? styleText("red", `error: ${message}`, { stream })
      : Number(level) >= WARN
        ? styleText("yellow", `warning: ${message}`, { stream })
        : message;
  const rest = fields.length > 0 ? `  ${styleText("dim", fields.join(" · "), { stream })}` : "";
  return `${styleText("dim", clock, { stream })}  ${said}${rest}\n`;
}

/** `loadMs: 640` as `load 0.6 s`, bytes as MB, lists as words. */
function describe(name: string, value: unknown): string {
  if (typeof value === "number" && name.endsWith("Ms"))
    return `${name.slice(0, -2)} ${(value / 1_000).toFixed(1)} s`;
  if (typeof value === "number" && name.endsWith("Bytes"))
    return `${name.slice(0, -5)} ${Math.round(value / 1e6)} MB`;
  if (Array.isArray(value) && value.every((one) => typeof one === "string"))
    return `${name} ${value.join(", ")}`;
  return `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`;
}

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
