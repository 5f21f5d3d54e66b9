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
import { drawWaterfall } from "./waterfall.js";

export interface TraceOptions {
  /** Trace id; the trace of most spans where absent. */
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
