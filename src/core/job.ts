import type { Artifact } from "./artifact.js";
import { JobError, type FailureCode } from "./errors.js";
import type { ServiceTier } from "./service-tier.js";
import type { Prices } from "./usage.js";

/** The public states. A cancelled job is `failed` with code `cancelled`. */
export type JobState = "queued" | "in_progress" | "completed" | "failed";

const TRANSITIONS: Record<JobState, readonly JobState[]> = {
  queued: ["in_progress", "failed"],
  in_progress: ["completed", "failed"],
  completed: [],
  failed: [],
};

/** States only move up; a preempted job stays `in_progress` for its next attempt. */
export function canTransition(from: JobState, to: JobState): boolean {
  return TRANSITIONS[from].includes(to);
}

export function isEndState(state: JobState): boolean {
  return TRANSITIONS[state].length === 0;
}

/** One unit of work as it travels on the queue. Plain data: survives JSON. */
export interface Job<Request = unknown> {
  readonly id: string;
  readonly modality: string;
  readonly model: string;
  /** `default` where it is left out, as messages of fronts of before do. */
  readonly serviceTier?: ServiceTier;
  /** Parsed by the modality's schema. */
  readonly request: Request;
  /** Where the request lies as JSON when it is too long for a message; `request` is null then. */
  readonly requestFile?: Artifact;
  /** Unix time in milliseconds after which the job must not start. */
  readonly expiresAtMs: number;
  /** gRPC address of the front that has the caller. For workers of before: a claim says so, too, and is believed. */
  readonly reportTo: string;
  /** W3C trace context of the request that made the job. */
  readonly traceparent?: string;
  /** Opaque mark of the project that asked: what jobs leave in memory serves only those of the same one. */
  readonly tenant?: string;
}

/** The right to run one attempt of a job; every report carries the token. */
export interface Lease {
  readonly jobId: string;
  /** Fencing token: grows with every claim, so that reports of an earlier claim are refused. */
  readonly token: number;
  /** Claim number, counted from 1. */
  readonly attempt: number;
  /** How long the lease holds from the moment the answer arrived. Only durations cross the wire. */
  readonly leaseMs: number;
  readonly prices: Prices;
}

export interface JobFailure {
  readonly code: FailureCode;
  readonly message: string;
  /** The request field at fault, where the worker found one. */
  readonly param?: string;
}

/** An error as plain data, to cross a boundary. */
export function toFailure({ code, message, param }: JobError) {
  return { code, message, ...(param !== null && { param }) };
}

/** The error of a failure that crossed a boundary. */
export function fromFailure({ code, message, param }: JobFailure): JobError {
  return new JobError(code, message, param === undefined ? {} : { param });
}
