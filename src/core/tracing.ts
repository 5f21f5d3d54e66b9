import { toJobError } from "./errors.js";

/** Never what callers wrote: neither prompts nor keys nor paths. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** OpenTelemetry's kinds. */
export type SpanKind = "internal" | "server" | "client" | "producer" | "consumer";

export interface SpanOptions {
  /** W3C trace context of the span above; without one it is the first of a trace. */
  readonly parent?: string | undefined;
  /** `internal` by default. */
  readonly kind?: SpanKind;
  readonly attributes?: SpanAttributes;
  /** Unix milliseconds; now by default. */
  readonly startedAtMs?: number;
}

/** One piece of work of a trace, from its start to its end. */
export interface Span {
  /** What spans below it name as their parent: its own, or the parent's where nothing is traced. */
  readonly traceparent: string | undefined;
  set(attributes: SpanAttributes): void;
  /** Something happened now. */
  note(event: string): void;
  /** It ends without what it was for; `code` says why. */
  fail(code: string): void;
  /** Unix milliseconds; now by default. What is ended twice ended the first time. */
  end(atMs?: number): void;
}

export interface Tracer {
  start(name: string, options?: SpanOptions): Span;
}

/** A tracer and what it holds on to. */
export interface Tracing {
  readonly tracer: Tracer;
  /** Waits for what has ended to be exported, 2 s at most. Never rejects. */
  readonly close: () => Promise<void>;
}

/** Where spans go. Without an endpoint and a file nothing is traced. */
export interface TraceSettings {
  /** Base URL of an OTLP receiver. */
  readonly endpoint?: string | undefined;
  /** Headers of the export, as `name=value,name=value`. */
  readonly headers?: string | undefined;
  /** File that OTLP JSON lines are appended to. */
  readonly file?: string | undefined;
  /** Share of traces kept, 0 to 1, where the caller has not decided. */
  readonly ratio: number;
}

/** Traces nothing; what a caller sent is passed on as it came. */
export const UNTRACED: Tracer = {
  start: (_name, { parent } = {}) => ({ ...NOTHING, traceparent: parent }),
};

const NOTHING = { set: () => {}, note: () => {}, fail: () => {}, end: () => {} };

/** A span around a piece of work; where that rejects, its error's code. */
export async function traced<Result>(
  span: Span,
  work: (span: Span) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(span);
  } catch (thrown) {
    span.fail(toJobError(thrown).code);
    throw thrown;
  } finally {
    span.end();
  }
}

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Whether a header is a trace context as https://www.w3.org/TR/trace-context writes it. */
export function isTraceparent(header: unknown): header is string {
  return typeof header === "string" && TRACEPARENT.test(header);
}

/** Its parts in hexadecimal: trace 32, span 16, flags 2 digits. */
export function splitTraceparent(traceparent: string | undefined) {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, flags };
}

/** Fields of a log line that lead to the trace. */
export function traceFields(traceparent: string | undefined) {
  const parts = splitTraceparent(traceparent);
  return parts === undefined ? {} : { trace_id: parts.traceId, span_id: parts.spanId };
}
