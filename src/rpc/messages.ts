import { z } from "zod";
import type { Artifact } from "../core/artifact.js";
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
} from "../core/reports.js";
import { type Prices, UNIT_NAMES, type Units, type Usage } from "../core/usage.js";
import type { Artifact as WireArtifact } from "./gen/framemill/v1/Artifact.js";
import type { ClaimResponse } from "./gen/framemill/v1/ClaimResponse.js";
import type { CompleteRequest } from "./gen/framemill/v1/CompleteRequest.js";
import type { CompleteResponse } from "./gen/framemill/v1/CompleteResponse.js";
import type { FailRequest } from "./gen/framemill/v1/FailRequest.js";
import type { FailResponse } from "./gen/framemill/v1/FailResponse.js";
import type { HeartbeatResponse } from "./gen/framemill/v1/HeartbeatResponse.js";
import type { LeaseRef as WireLeaseRef } from "./gen/framemill/v1/LeaseRef.js";
import type { ReleaseRequest } from "./gen/framemill/v1/ReleaseRequest.js";
import type { ReportRequest } from "./gen/framemill/v1/ReportRequest.js";
import type { ReportResponse } from "./gen/framemill/v1/ReportResponse.js";
import { unitFields, wireUnits, withoutAbsent } from "./wire-units.js";
import { decode, decodeAnswer, integer, name, outcome } from "./wire.js";
import type { Chunk } from "../core/events.js";
import type { Chunk as WireChunk } from "./gen/framemill/v1/Chunk.js";

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

const positive = integer.refine((value) => value > 0, "must be above 0");
const quantity = z.number().nonnegative();

const leaseRef = z.object({ jobId: name, token: positive });
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
const cost = z.object({ prices, amountMicroUsd: integer });
const usage = z.object({ ...unitFields, gpuMilliseconds: integer });
const json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue("must be JSON");
    return z.NEVER;
  }
});

/** A piece of an answer as it comes off the wire. */
const wireChunk = z
  .object({
    json: z.string().optional(),
    bytes: z.instanceof(Uint8Array).optional(),
    units: wireUnits.nullish(),
  })
  .transform(toChunk);

const claimRequest = z.object({ jobId: name, workerId: name });
const heartbeatRequest = z.object({ lease: leaseRef, workerId: name });
const reportRequest = z.object({
  lease: leaseRef,
  sequence: positive,
  fraction: z.number().min(0).max(1),
  stage: z.string().max(256),
  chunks: z.array(wireChunk),
});
const completeRequest = z.object({
  lease: leaseRef,
  usage,
  cost,
  artifacts: z.array(artifact).max(100),
  outputJson: json,
});
const failRequest = z.object({
  lease: leaseRef,
  code: z.string().refine(isFailureCode, "is no failure code"),
  message: z.string(),
  param: z.string().max(256),
  retryable: z.boolean(),
  gpuMilliseconds: integer,
});
const releaseRequest = z.object({ lease: leaseRef, checkpoint, gpuMilliseconds: integer });

const claimResponse = z.object({
  outcome: outcome(CLAIM_OUTCOMES),
  lease: z.object({ token: positive, attempt: z.number(), leaseMs: z.number(), prices }).nullish(),
  checkpoint,
  retryAfterMs: z.number(),
  reportTo: z.string().max(512).default(""),
});
const heartbeatResponse = z.object({
  outcome: outcome(LEASE_OUTCOMES),
  leaseMs: z.number(),
  cancel: z.boolean(),
  drain: z.boolean(),
});
const reportResponse = z.object({
  lease: leaseRef,
  sequence: integer,
  outcome: outcome(LEASE_OUTCOMES),
  cancel: z.boolean(),
});
const recordResponse = z.object({ outcome: outcome(RECORD_OUTCOMES) });
const failResponse = z.object({ outcome: outcome(FAIL_OUTCOMES), retryAfterMs: z.number() });

// Requests, read by the front.

export function decodeClaimRequest(wire: unknown): { jobId: string; workerId: string } {
  return decode(claimRequest, wire);
}

export function decodeHeartbeatRequest(wire: unknown): { lease: LeaseRef; workerId: string } {
  return decode(heartbeatRequest, wire);
}

export function decodeReportRequest(wire: unknown): SequencedReport {
  const { lease, sequence, chunks, ...progress } = decode(reportRequest, wire);
  const report = { ...lease, ...progress, ...(chunks.length === 0 ? {} : { chunks }) };
  return { report, sequence };
}

export function decodeCompleteRequest(wire: unknown): CompletionReport {
  const request = decode(completeRequest, wire);
  return {
    ...request.lease,
    usage: toUsage(request.usage),
    cost: request.cost,
    artifacts: request.artifacts,
    output: request.outputJson,
  };
}

export function decodeFailRequest(wire: unknown): FailureReport {
  const { lease, code, message, param, retryable, gpuMilliseconds } = decode(failRequest, wire);
  const failure = { code, message, ...(param !== "" && { param }) };
  return { ...lease, failure, retryable, gpuMs: gpuMilliseconds };
}

export function decodeReleaseRequest(wire: unknown): ReleaseReport {
  const request = decode(releaseRequest, wire);
  return { ...request.lease, checkpoint: request.checkpoint, gpuMs: request.gpuMilliseconds };
}

// Requests, written by the worker.

export function encodeLeaseRef({ jobId, token }: LeaseRef): WireLeaseRef {
  return { jobId, token };
}

export function encodeReportRequest({ report, sequence }: SequencedReport): ReportRequest {
  const { fraction, stage, chunks = [] } = report;
  const pieces = chunks.map(encodeChunk);
  return { lease: encodeLeaseRef(report), sequence, fraction, stage, chunks: pieces };
}

export function encodeCompleteRequest(report: CompletionReport): CompleteRequest {
  const { gpuMs, ...units } = report.usage;
  return {
    lease: encodeLeaseRef(report),
    usage: { ...units, gpuMilliseconds: Math.round(gpuMs) },
    cost: report.cost,
    artifacts: report.artifacts.map(encodeArtifact),
    outputJson: JSON.stringify(report.output ?? null),
  };
}

export function encodeFailRequest(report: FailureReport): FailRequest {
  const { failure, retryable, gpuMs } = report;
  return {
    lease: encodeLeaseRef(report),
    ...failure,
    retryable,
    gpuMilliseconds: Math.round(gpuMs),
  };
}

export function encodeReleaseRequest(report: ReleaseReport): ReleaseRequest {
  const { checkpoint: saved, gpuMs } = report;
  return {
    lease: encodeLeaseRef(report),
    checkpoint: saved === null ? null : encodeArtifact(saved),
    gpuMilliseconds: Math.round(gpuMs),
  };
}

// Answers, written by the front.

export function encodeClaimResponse(result: ClaimResult): ClaimResponse {
  const head = { outcome: CLAIM_OUTCOMES[result.outcome] };
  if (result.outcome === "busy") return { ...head, retryAfterMs: result.retryAfterMs };
  if (result.outcome === "already-done") return head;
  const { token, attempt, leaseMs, prices: agreed } = result.lease;
  const saved = result.checkpoint === null ? null : encodeArtifact(result.checkpoint);
  return {
    ...head,
    lease: { token, attempt, leaseMs, prices: agreed },
    checkpoint: saved,
    reportTo: result.reportTo ?? "",
  };
}

export function encodeHeartbeatResponse(result: HeartbeatResult): HeartbeatResponse {
  return {
    ...result,
    leaseMs: Math.floor(result.leaseMs),
    outcome: LEASE_OUTCOMES[result.outcome],
  };
}

export function encodeReportResponse(
  { report, sequence }: SequencedReport,
  result: ProgressResult,
): ReportResponse {
  const { cancel } = result;
  return {
    lease: encodeLeaseRef(report),
    sequence,
    outcome: LEASE_OUTCOMES[result.outcome],
    cancel,
  };
}

/** Word of its own, which acknowledges nothing. */
export function encodeCancellation(lease: LeaseRef): ReportResponse {
  return {
    lease: encodeLeaseRef(lease),
    sequence: 0,
    outcome: LEASE_OUTCOMES.held,
    cancel: true,
  };
}

export function encodeRecordResponse(result: CompletionResult): CompleteResponse {
  return { outcome: RECORD_OUTCOMES[result.outcome] };
}

export function encodeFailResponse(result: FailureResult): FailResponse {
  return { outcome: FAIL_OUTCOMES[result.outcome], retryAfterMs: Math.ceil(result.retryAfterMs) };
}

// Answers, read by the worker.

export function decodeClaimResponse(wire: unknown, jobId: string): ClaimResult {
  const answer = decodeAnswer(claimResponse, wire);
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

export function decodeHeartbeatResponse(wire: unknown): HeartbeatResult {
  return decodeAnswer(heartbeatResponse, wire);
}

export function decodeReportResponse(
  wire: unknown,
): ProgressResult & { readonly lease: LeaseRef; readonly sequence: number } {
  return decodeAnswer(reportResponse, wire);
}

export function decodeRecordResponse(wire: unknown): CompletionResult {
  return decodeAnswer(recordResponse, wire);
}

export function decodeFailResponse(wire: unknown): FailureResult {
  return decodeAnswer(failResponse, wire);
}

function encodeArtifact({ id, variant, mediaType, byteLength, sha256 }: Artifact): WireArtifact {
  return { id, variant, mediaType, byteLength, sha256 };
}

function toUsage({ gpuMilliseconds, ...units }: z.infer<typeof usage>): Usage {
  return { ...withoutAbsent(units), gpuMs: gpuMilliseconds };
}

function encodeChunk({ units, ...piece }: Chunk): WireChunk {
  const counted = units === undefined ? {} : { units };
  return piece.type === "bytes"
    ? { bytes: Buffer.from(piece.bytes), ...counted }
    : { json: JSON.stringify(piece.value), ...counted };
}

interface SentChunk {
  readonly json?: string | undefined;
  readonly bytes?: Uint8Array | undefined;
  readonly units?: Units | null | undefined;
}

function toChunk(wire: SentChunk, context: z.RefinementCtx): Chunk {
  const counted = wire.units ? { units: wire.units } : {};
  if (wire.bytes !== undefined) return { type: "bytes", bytes: wire.bytes, ...counted };
  try {
    return { type: "json", value: JSON.parse(wire.json ?? ""), ...counted };
  } catch {
    context.addIssue("a chunk must be JSON or bytes");
    return z.NEVER;
  }
}
