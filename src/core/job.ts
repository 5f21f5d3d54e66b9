import type { FailureCode } from "./errors.js";

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
  /** Parsed by the modality's schema; at most 64 KiB as JSON. Big inputs are artifacts. */
  readonly request: Request;
  /** Unix time in milliseconds after which the job must not start. */
  readonly expiresAtMs: number;
  /** gRPC address of the front (replica) that wants the report. */
  readonly reportTo: string;
  /** W3C trace context of the request that made the job. */
  readonly traceparent?: string;
}

/** The right to run one attempt of a job; every report carries the token. */
export interface Lease {
  readonly jobId: string;
  /** Fencing token: grows with every claim, so a late writer is told from the present one. */
  readonly token: number;
  /** Claim number, counted from 1. */
  readonly attempt: number;
  /** How long the lease holds from the moment the answer arrived. Only durations cross the wire. */
  readonly leaseMs: number;
  readonly microUsdPerUnit: number;
}

export interface JobFailure {
  readonly code: FailureCode;
  readonly message: string;
}
