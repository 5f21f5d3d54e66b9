import { clearScreenDown, cursorTo } from "node:readline";
import { stripVTControlCharacters } from "node:util";

const ALTERNATE = "\u001b[?1049h\u001b[?25l";
const BACK = "\u001b[?25h\u001b[?1049l";
const CTRL_C = "\u0003";
const ROWS = 24;
const COLUMNS = 80;

export interface Screen {
  /** Aborts when the user wants to leave. */
  readonly closing: AbortSignal;
  /** Shows text from the upper left corner, as much as there is room for. */
  draw(text: string): void;
  /** Gives the terminal back as it was. */
  close(): void;
}

/** Takes the terminal for itself, until `close`. However the process ends, the terminal is given back. */
export function openScreen(): Screen {
  const { stdin, stdout } = process;
  const closing = new AbortController();
  const leave = () => closing.abort();
  const onKey = (key: string) => {
    if (key === "q" || key === CTRL_C) leave();
  };
  const restore = () => stdout.write(BACK);
  stdout.write(ALTERNATE);
  process.once("exit", restore);
  process.once("SIGINT", leave);
  process.once("SIGTERM", leave);
  if (stdin.isTTY) stdin.setRawMode(true).setEncoding("utf8").on("data", onKey);
  return {
    closing: closing.signal,
    draw(text) {
      // Some terminals say 0 for what they do not know.
      const rows = stdout.rows > 0 ? stdout.rows : ROWS;
      const columns = stdout.columns > 0 ? stdout.columns : COLUMNS;
      const lines = text.split("\n").slice(0, rows);
      cursorTo(stdout, 0, 0);
      clearScreenDown(stdout);
      stdout.write(lines.map((line) => fit(line, columns)).join("\r\n"));
    },
    close() {
      process.off("exit", restore);
      process.off("SIGINT", leave);
      process.off("SIGTERM", leave);
      if (stdin.isTTY) stdin.off("data", onKey).setRawMode(false).pause();
      restore();
    },
  };
}

/** A line that is too long loses its colours with its end. */
function fit(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line);
  return plain.length <= columns ? line : `${plain.slice(0, Math.max(0, columns - 1))}…`;
}
