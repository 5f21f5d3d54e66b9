import { readFile, writeFile } from "node:fs/promises";
import {
  chooseTrace,
  drawTraceText,
  parseTraces,
  placeSpans,
  startOf,
  type TraceSpan,
} from "../../tracing/index.js";
import { printJson } from "./table.js";

export interface TraceOptions {
  /** Trace id; the trace of most spans by default. */
  readonly id?: string;
  /** SVG file to write. */
  readonly svg?: string;
  readonly json?: boolean;
}

/** Prints one trace of a file that TRACES_FILE or `--trace` named, as a tree with times. */
export async function showTrace(path: string, { id, svg, json }: TraceOptions): Promise<void> {
  const trace = chooseTrace(parseTraces(await readFile(path, "utf8")), id);
  if (svg !== undefined) await writeFile(svg, drawTrace(trace));
  if (json) printJson(placeSpans(trace));
  else process.stdout.write(drawTraceText(trace));
}

function drawTrace(trace: readonly TraceSpan[]): string {
  const from = startOf(trace);
  return drawWaterfall(
    placeSpans(trace).map(({ span, depth }) => ({
      // SVG drops blanks at the start of a text.
      what: `${"· ".repeat(depth)}${span.name}`,
      group: span.service.replace(/^framemill-/, ""),
      from: (span.startedAtMs - from) / 1_000,
      to: (span.endedAtMs - from) / 1_000,
    })),
  );
}

interface WaterfallRow {
  readonly what: string;
  /** Rows of one group have one colour. */
  readonly group: string;
  /** Seconds since the first row began. */
  readonly from: number;
  readonly to: number;
}

/** Pixels. */
const MARGIN = 12;
const LABELS = 300;
const BARS = 640;
const KEY = 110;
const ROW = 18;

/** Narrower bars could not be seen, as a share of the whole. */
const THINNEST = 0.003;
/** Tableau's ten: they are told apart by most eyes. */
const COLOURS =
  "#4c78a8 #f58518 #e45756 #72b7b2 #54a24b #eeca3b #b279a2 #ff9da6 #9d755d #bab0ac".split(" ");

/** What went on when, a bar a row in the order given, as an SVG picture. */
export function drawWaterfall(rows: readonly WaterfallRow[]): string {
  const whole = Math.max(...rows.map(({ to }) => to), Number.MIN_VALUE);
  const groups = [...new Set(rows.map(({ group }) => group))];
  const colourOf = (group: string) => COLOURS[groups.indexOf(group) % COLOURS.length] ?? "";
  const x = (seconds: number) => (MARGIN + LABELS + (seconds / whole) * BARS).toFixed(1);
  const y = (row: number) => MARGIN + row * ROW;
  const text = (left: number | string, top: number, words: string, more = "") =>
    `<text x="${left}" y="${top}"${more}>${escape(words)}</text>`;
  const bottom = y(rows.length);
  const right = MARGIN + LABELS + BARS + MARGIN;
  const step = stepOf(whole);
  const marks = Array.from({ length: Math.floor(whole / step) + 1 }, (_, at) => at * step);
  const parts = [
    `<rect width="100%" height="100%" fill="white"/>`,
    ...marks.flatMap((mark) => [
      `<path d="M${x(mark)},${MARGIN}V${bottom}" stroke="#ddd"/>`,
      text(x(mark), bottom + ROW, String(Number(mark.toPrecision(3))), ` text-anchor="middle"`),
    ]),
    text(x(whole / 2), bottom + 2 * ROW, "seconds", ` text-anchor="middle" font-weight="bold"`),
    ...rows.flatMap(({ what, group, from, to }, row) => {
      const width = (Math.max((to - from) / whole, THINNEST) * BARS).toFixed(1);
      return [
        text(MARGIN, y(row) + 13, what),
        `<rect x="${x(from)}" y="${y(row) + 3}" width="${width}" height="12" fill="${colourOf(group)}"/>`,
      ];
    }),
    ...groups.flatMap((group, row) => [
      `<rect x="${right}" y="${y(row) + 3}" width="12" height="12" fill="${colourOf(group)}"/>`,
      text(right + ROW, y(row) + 13, group),
    ]),
  ];
  const [width, height] = [right + KEY, Math.max(bottom, y(groups.length)) + 3 * ROW];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12">\n${parts.join("\n")}\n</svg>\n`;
}

/** Seconds between two marks of the axis: 1, 2 or 5 of a power of ten, at most ten in all. */
function stepOf(whole: number): number {
  const power = 10 ** Math.floor(Math.log10(whole / 10));
  return ([1, 2, 5].find((step) => step * power * 10 >= whole) ?? 10) * power;
}

function escape(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
