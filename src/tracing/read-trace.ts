import { z } from "zod";

/** One span of a trace, as a file of OTLP JSON lines has it. */
export interface TraceSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined for the first of a trace. */
  readonly parentId: string | undefined;
  /** Which part of the service, e.g. `framemill-worker`. */
  readonly service: string;
  readonly name: string;
  /** Unix milliseconds. */
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** `error.type` of a span that failed. */
  readonly error: string | undefined;
}

/** A span in its place: below its parent, in the order of their starts. */
export interface PlacedSpan {
  readonly span: TraceSpan;
  readonly depth: number;
}

const value = z.looseObject({
  stringValue: z.string().optional(),
  boolValue: z.boolean().optional(),
  intValue: z.coerce.number().optional(),
  doubleValue: z.number().optional(),
});
const attributes = z
  .array(z.object({ key: z.string(), value }))
  .default([])
  .transform((pairs) =>
    Object.fromEntries(
      pairs.map(({ key, value: it }) => [
        key,
        it.stringValue ?? it.boolValue ?? it.intValue ?? it.doubleValue,
      ]),
    ),
  );
const nanoseconds = z.coerce.bigint().transform((time) => Number(time / 1_000n) / 1_000);
const line = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
              startTimeUnixNano: nanoseconds,
              endTimeUnixNano: nanoseconds,
              attributes,
            }),
          ),
        }),
      ),
    }),
  ),
});

/** The spans of a file of OTLP JSON lines. Throws where a line is something else. */
export function parseTraces(text: string): TraceSpan[] {
  const lines = text.split("\n").filter((each) => each.trim() !== "");
  return lines.flatMap((each, at) => {
    const parsed = line.safeParse(parseJson(each));
    if (!parsed.success) throw new Error(`line ${at + 1} is not OTLP JSON of spans`);
    return parsed.data.resourceSpans.flatMap(toSpans);
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type ResourceSpans = z.infer<typeof line>["resourceSpans"][number];

function toSpans({ resource, scopeSpans }: ResourceSpans): TraceSpan[] {
  const service = String(resource.attributes["service.name"] ?? "");
  return scopeSpans.flatMap(({ spans }) =>
    spans.map((span) => ({
      traceId: span.traceId,
      spanId: span.spanId,
      parentId: span.parentSpanId === "" ? undefined : span.parentSpanId,
      service,
      name: span.name,
      startedAtMs: span.startTimeUnixNano,
      endedAtMs: span.endTimeUnixNano,
      attributes: span.attributes,
      error: span.attributes["error.type"]?.toString(),
    })),
  );
}

/** The trace of most spans, or the named one; the latest of equals. Throws where there is none. */
export function chooseTrace(spans: readonly TraceSpan[], id?: string): TraceSpan[] {
  const traces = new Map<string, TraceSpan[]>();
  for (const span of spans) traces.set(span.traceId, [...(traces.get(span.traceId) ?? []), span]);
  const [largest] = [...traces.values()].toSorted(
    (a, b) => b.length - a.length || startOf(b) - startOf(a),
  );
  const chosen = id === undefined ? largest : traces.get(id);
  if (chosen === undefined) throw new Error(`no trace ${id ?? "at all"} is there`);
  return chosen;
}

/** Unix milliseconds. */
export function startOf(trace: readonly TraceSpan[]): number {
  return Math.min(...trace.map(({ startedAtMs }) => startedAtMs));
}

/** Every span below its parent; one whose parent is elsewhere (the caller's own) comes first. */
export function placeSpans(trace: readonly TraceSpan[]): PlacedSpan[] {
  const known = new Set(trace.map(({ spanId }) => spanId));
  const below = (parentId: string | undefined) =>
    trace
      .filter((span) => (known.has(span.parentId ?? "") ? span.parentId : undefined) === parentId)
      .toSorted((a, b) => a.startedAtMs - b.startedAtMs);
  const placed: PlacedSpan[] = [];
  const place = (parentId: string | undefined, depth: number): void => {
    for (const span of below(parentId)) {
      placed.push({ span, depth });
      place(span.spanId, depth + 1);
    }
  };
  place(undefined, 0);
  return placed;
}

const BAR_WIDTH = 32;

/** A trace as text: one line a span with its process, start and length, and a bar over the whole. */
export function drawTraceText(trace: readonly TraceSpan[]): string {
  const from = startOf(trace);
  const wholeMs = Math.max(...trace.map(({ endedAtMs }) => endedAtMs)) - from;
  const at = (ms: number) => Math.round(((ms - from) / Math.max(wholeMs, 1)) * BAR_WIDTH);
  const placed = placeSpans(trace);
  const nameWidth = Math.max(...placed.map(({ span, depth }) => 2 * depth + span.name.length));
  const lines = placed.map(({ span, depth }) => {
    const { name, service, startedAtMs, endedAtMs, error } = span;
    const [first, last] = [at(startedAtMs), at(endedAtMs)];
    const bar = `${" ".repeat(first)}${"█".repeat(Math.max(1, last - first))}`;
    return [
      `${"  ".repeat(depth)}${name}`.padEnd(nameWidth),
      service.replace(/^framemill-/, "").padEnd(9),
      toMs(startedAtMs - from),
      toMs(endedAtMs - startedAtMs),
      error === undefined ? bar : `${bar} ${error}`,
    ].join("  ");
  });
  const head = ["".padEnd(nameWidth), "process  ", "  start ms", "   took ms"].join("  ");
  const id = trace[0]?.traceId ?? "";
  return `trace ${id}, ${placed.length} spans\n\n${head}\n${lines.map((each) => each.trimEnd()).join("\n")}\n`;
}

function toMs(ms: number): string {
  return ms.toFixed(1).padStart(10);
}
