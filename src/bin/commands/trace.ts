import { readFile, writeFile } from "node:fs/promises";
import { drawWaterfall } from "../../../bench/src/plot.js";
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
  /** Trace id; the trace of most spans where absent. */
  readonly id?: string;
  /** SVG file to write. */
  readonly svg?: string;
  readonly json?: boolean;
}

/** Prints one trace of a file that TRACES_FILE or `--trace` named, as a tree with times. */
export async function showTrace(path: string, { id, svg, json }: TraceOptions): Promise<void> {
  const trace = chooseTrace(parseTraces(await readFile(path, "utf8")), id);
  if (svg !== undefined) await writeFile(svg, await drawTrace(trace));
  if (json) printJson(placeSpans(trace));
  else process.stdout.write(drawTraceText(trace));
}

async function drawTrace(trace: readonly TraceSpan[]): Promise<string> {
  const from = startOf(trace);
  return await drawWaterfall(
    placeSpans(trace).map(({ span, depth }) => ({
      // Labels lose blanks at their start.
      what: `${"· ".repeat(depth)}${span.name}`,
      group: span.service.replace(/^framemill-/, ""),
      from: (span.startedAtMs - from) / 1_000,
      to: (span.endedAtMs - from) / 1_000,
    })),
  );
}
