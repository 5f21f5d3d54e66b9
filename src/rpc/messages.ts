import { z } from "zod";
import type { Chunk } from "../core/events.js";
import { isFailureCode, JobError } from "../core/errors.js";
import type {
  ClaimResult,
  CompletionReport,
  CompletionResult,
  FailureReport,
  FailureResult,
  HeartbeatResult,
  LeaseRef,
  ProgressReport,
  ReleaseReport,
  WorkerStatus,
} from "../core/reports.js";
import { type Prices, UNIT_NAMES, type Units } from "../core/usage.js";
import type { AnnounceRequest } from "./gen/framemill/v1/AnnounceRequest.js";
import type { Chunk as WireChunk } from "./gen/framemill/v1/Chunk.js";
import type { ClaimResponse } from "./gen/framemill/v1/ClaimResponse.js";
import type { CompleteRequest } from "./gen/framemill/v1/CompleteRequest.js";
import type { CompleteResponse } from "./gen/framemill/v1/CompleteResponse.js";
import type { FailRequest } from "./gen/framemill/v1/FailRequest.js";
import type { FailResponse } from "./gen/framemill/v1/FailResponse.js";
import type { HeartbeatResponse } from "./gen/framemill/v1/HeartbeatResponse.js";
import type { ReleaseRequest } from "./gen/framemill/v1/ReleaseRequest.js";
import type { ReportRequest } from "./gen/framemill/v1/ReportRequest.js";
import type { ReportResponse } from "./gen/framemill/v1/ReportResponse.js";

/** What the front says to a progress report. */
export interface ProgressResult {
  readonly outcome: "held" | "stale";
  /** The caller cancelled the job: stop it and report `cancelled`. */
  readonly cancel: boolean;
}

/** A progress report with its place among those of the same attempt. */
export interface SequencedReport {
  readonly report: ProgressReport;
  /** Counted from 1 within the attempt. */
  readonly sequence: number;
}

const LEASE_OUTCOMES = { held: "LEASE_OUTCOME_HELD", stale: "LEASE_OUTCOME_STALE" } as const;
const CLAIM_OUTCOMES = {
  leased: "CLAIM_OUTCOME_LEASED",
  busy: "CLAIM_OUTCOME_BUSY",
  "already-done": "CLAIM_OUTCOME_ALREADY_DONE",
} as const;
const RECORD_OUTCOMES = {
  recorded: "RECORD_OUTCOME_RECORDED",
  stale: "RECORD_OUTCOME_STALE",
} as const;
const FAIL_OUTCOMES = {
  retry: "FAIL_OUTCOME_RETRY",
  failed: "FAIL_OUTCOME_FAILED",
  stale: "FAIL_OUTCOME_STALE",
} as const;
const STATES = {
  starting: "WORKER_STATE_STARTING",
  ready: "WORKER_STATE_READY",
  busy: "WORKER_STATE_BUSY",
  unready: "WORKER_STATE_UNREADY",
  draining: "WORKER_STATE_DRAINING",
  stopped: "WORKER_STATE_STOPPED",
} as const satisfies Readonly<Record<WorkerStatus["state"], string>>;

// Fields of messages.

/** A wire enum back to the core's word; UNSPECIFIED and numbers of a newer schema are refused. */
function outcome<const Word extends string>(words: Readonly<Record<Word, string>>) {
  const all = Object.keys(words).filter((word): word is Word => Object.hasOwn(words, word));
  return z.unknown().transform((sent, context): Word => {
    const word = all.find((candidate) => words[candidate] === sent);
    if (word !== undefined) return word;
    context.addIssue(`unknown outcome ${String(sent)}`);
    return z.NEVER;
  });
}

/** A 64-bit integer as text, refused where a number would lose digits. */
const integer = z
  .string()
  .regex(/^\d{1,16}$/, "must be an integer below 2^53")
  .transform(Number)
  .refine(Number.isSafeInteger, "must be below 2^53");
const positive = integer.refine((value) => value > 0, "must be above 0");
const quantity = z.number().nonnegative();
const name = z.string().min(1).max(256);
const json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue("must be JSON");
    return z.NEVER;
  }
});

const lease = z.object({ jobId: name, token: positive });
const artifact = z.object({
  id: z.string().min(1).max(1_024),
  variant: name,
  mediaType: name,
  byteLength: integer,
  sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits"),
});
const checkpoint = artifact.nullish().transform((value) => value ?? null);
const prices = z
  .object(Object.fromEntries(UNIT_NAMES.map((unit) => [unit, quantity.optional()])))
  .nullish()
  .transform((sent): Prices => withoutAbsent(sent ?? {}));
const unitFields = {
  inputTokens: integer.optional(),
  outputTokens: integer.optional(),
  images: integer.optional(),
  audioSeconds: quantity.optional(),
  videoSeconds: quantity.optional(),
  characters: integer.optional(),
  searches: integer.optional(),
};
const usage = z
  .object({ ...unitFields, gpuMilliseconds: integer })
  .transform(({ gpuMilliseconds, ...units }) => ({
    ...withoutAbsent(units),
    gpuMs: gpuMilliseconds,
  }));
const chunk = z
  .object({
    json: z.string().optional(),
    bytes: z.instanceof(Uint8Array).optional(),
    units: z.object(unitFields).transform(withoutAbsent).nullish(),
  })
  .transform(({ json: text = "", bytes, units }, context): Chunk => {
    const counted = units ? { units } : {};
    if (bytes !== undefined) return { type: "bytes", bytes, ...counted };
    try {
      return { type: "json", value: JSON.parse(text), ...counted };
    } catch {
      context.addIssue("a chunk must be JSON or bytes");
      return z.NEVER;
    }
  });

/** Drops units that were not sent: an absent unit and 0 are different things. */
function withoutAbsent(units: Readonly<Record<string, number | undefined>>): Units {
  return Object.fromEntries(Object.entries(units).filter(([, value]) => value !== undefined));
}

// Requests, read by the front: what does not fit is the worker's fault.

function requestOf<T>(schema: z.ZodType<T>): (wire: unknown) => T {
  return (wire) => {
    const parsed = schema.safeParse(wire);
    if (parsed.success) return parsed.data;
    throw new JobError("invalid_value", z.prettifyError(parsed.error));
  };
}

export const decodeClaimRequest = requestOf(z.object({ jobId: name, workerId: name }));

export const decodeHeartbeatRequest = requestOf(z.object({ lease, workerId: name }));

export const decodeReportRequest = requestOf<SequencedReport>(
  z
    .object({
      lease,
      sequence: positive,
      fraction: z.number().min(0).max(1),
      stage: z.string().max(256),
      chunks: z.array(chunk),
    })
    .transform(({ lease: of, sequence, chunks, ...progress }) => ({
      report: { ...of, ...progress, ...(chunks.length > 0 && { chunks }) },
      sequence,
    })),
);

export const decodeCompleteRequest = requestOf<CompletionReport>(
  z
    .object({
      lease,
      usage,
      cost: z.object({ prices, amountMicroUsd: integer }),
      artifacts: z.array(artifact).max(100),
      outputJson: json,
    })
    .transform(({ lease: of, outputJson, ...report }) => ({
      ...of,
      ...report,
      output: outputJson,
    })),
);

export const decodeFailRequest = requestOf<FailureReport>(
  z
    .object({
      lease,
      code: z.string().refine(isFailureCode, "is no failure code"),
      message: z.string(),
      param: z.string().max(256),
      retryable: z.boolean(),
      gpuMilliseconds: integer,
    })
    .transform(({ lease: of, code, message, param, retryable, gpuMilliseconds }) => {
      const failure = { code, message, ...(param !== "" && { param }) };
      return { ...of, failure, retryable, gpuMs: gpuMilliseconds };
    }),
);

export const decodeReleaseRequest = requestOf<ReleaseReport>(
  z
    .object({ lease, checkpoint, gpuMilliseconds: integer })
    .transform(({ lease: of, checkpoint: saved, gpuMilliseconds }) => {
      return { ...of, checkpoint: saved, gpuMs: gpuMilliseconds };
    }),
);

export const decodeAnnounceRequest = requestOf<WorkerStatus>(
  z
    .object({
      workerId: name,
      state: outcome(STATES),
      models: z.array(name).max(1_000),
      slots: z.number().int().nonnegative(),
      running: z.number().int().nonnegative(),
      device: z.string().max(256),
      memoryBytes: integer,
      nanoUsdPerHour: integer,
      uptimeMilliseconds: integer,
      startingMilliseconds: integer,
      busyMilliseconds: integer,
    })
    .transform(({ uptimeMilliseconds, startingMilliseconds, busyMilliseconds, ...status }) => ({
      ...status,
      uptimeMs: uptimeMilliseconds,
      startingMs: startingMilliseconds,
      busyMs: busyMilliseconds,
    })),
);

// Requests, written by the worker. Of a report that stands for its lease, only that is sent.

export function encodeReportRequest({ report, sequence }: SequencedReport): ReportRequest {
  const { fraction, stage, chunks = [] } = report;
  return { lease: report, sequence, fraction, stage, chunks: chunks.map(encodeChunk) };
}

export function encodeCompleteRequest(report: CompletionReport): CompleteRequest {
  const { gpuMs, ...units } = report.usage;
  return {
    lease: report,
    usage: { ...units, gpuMilliseconds: Math.round(gpuMs) },
    cost: report.cost,
    artifacts: [...report.artifacts],
    outputJson: JSON.stringify(report.output ?? null),
  };
}

export function encodeFailRequest(report: FailureReport): FailRequest {
  const { failure, retryable, gpuMs } = report;
  return { lease: report, ...failure, retryable, gpuMilliseconds: Math.round(gpuMs) };
}

export function encodeReleaseRequest(report: ReleaseReport): ReleaseRequest {
  const gpuMilliseconds = Math.round(report.gpuMs);
  return { lease: report, checkpoint: report.checkpoint, gpuMilliseconds };
}

export function encodeAnnounceRequest(worker: WorkerStatus): AnnounceRequest {
  const { state, models, uptimeMs, startingMs, busyMs, ...status } = worker;
  return {
    ...status,
    models: [...models],
    state: STATES[state],
    uptimeMilliseconds: Math.round(uptimeMs),
    startingMilliseconds: Math.round(startingMs),
    busyMilliseconds: Math.round(busyMs),
  };
}

function encodeChunk({ units, ...piece }: Chunk): WireChunk {
  const counted = units === undefined ? {} : { units };
  return piece.type === "bytes"
    ? { bytes: Buffer.from(piece.bytes), ...counted }
    : { json: JSON.stringify(piece.value), ...counted };
}

// Answers, written by the front.

export function encodeClaimResponse(result: ClaimResult): ClaimResponse {
  return { ...result, outcome: CLAIM_OUTCOMES[result.outcome] };
}

export function encodeHeartbeatResponse(result: HeartbeatResult): HeartbeatResponse {
  const leaseMs = Math.floor(result.leaseMs);
  return { ...result, leaseMs, outcome: LEASE_OUTCOMES[result.outcome] };
}

export function encodeReportResponse(
  { report, sequence }: SequencedReport,
  { outcome: word, cancel }: ProgressResult,
): ReportResponse {
  return { lease: report, sequence, outcome: LEASE_OUTCOMES[word], cancel };
}

/** A message of its own, which acknowledges nothing. */
export function encodeCancellation(of: LeaseRef): ReportResponse {
  return { lease: of, sequence: 0, outcome: LEASE_OUTCOMES.held, cancel: true };
}

export function encodeRecordResponse(result: CompletionResult): CompleteResponse {
  return { outcome: RECORD_OUTCOMES[result.outcome] };
}

export function encodeFailResponse(result: FailureResult): FailResponse {
  return { outcome: FAIL_OUTCOMES[result.outcome], retryAfterMs: Math.ceil(result.retryAfterMs) };
}

// Answers, read by the worker: what does not fit is the front's fault.

function answerOf<T>(schema: z.ZodType<T>): (wire: unknown) => T {
  return (wire) => {
    const parsed = schema.safeParse(wire);
    if (parsed.success) return parsed.data;
    const problem = z.prettifyError(parsed.error);
    throw new JobError("server_error", `unusable answer of the front: ${problem}`);
  };
}

const readClaim = answerOf(
  z.object({
    outcome: outcome(CLAIM_OUTCOMES),
    lease: z
      .object({ token: positive, attempt: z.number(), leaseMs: z.number(), prices })
      .nullish(),
    checkpoint,
    retryAfterMs: z.number(),
    reportTo: z.string().max(512).default(""),
  }),
);

export function decodeClaimResponse(wire: unknown, jobId: string): ClaimResult {
  const answer = readClaim(wire);
  if (answer.outcome === "busy") return { outcome: "busy", retryAfterMs: answer.retryAfterMs };
  if (answer.outcome === "already-done") return { outcome: "already-done" };
  if (!answer.lease) throw new JobError("server_error", "the front leased a job without a lease");
  return {
    outcome: "leased",
    lease: { jobId, ...answer.lease },
    checkpoint: answer.checkpoint,
    ...(answer.reportTo !== "" && { reportTo: answer.reportTo }),
  };
}

export const decodeHeartbeatResponse = answerOf<HeartbeatResult>(
  z.object({
    outcome: outcome(LEASE_OUTCOMES),
    leaseMs: z.number(),
    cancel: z.boolean(),
    drain: z.boolean(),
  }),
);

export const decodeReportResponse = answerOf(
  z.object({ lease, sequence: integer, outcome: outcome(LEASE_OUTCOMES), cancel: z.boolean() }),
);

export const decodeRecordResponse = answerOf<CompletionResult>(
  z.object({ outcome: outcome(RECORD_OUTCOMES) }),
);

export const decodeFailResponse = answerOf<FailureResult>(
  z.object({ outcome: outcome(FAIL_OUTCOMES), retryAfterMs: z.number() }),
);

export const decodeAnnounceResponse = answerOf(z.object({ drain: z.boolean() }));
