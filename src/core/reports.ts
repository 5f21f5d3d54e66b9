import type { Artifact } from "./artifact.js";
import type { Chunk } from "./events.js";
import type { JobFailure, Lease } from "./job.js";
import type { Prices, Usage } from "./usage.js";

/** Answer to a claim. Only `leased` lets the worker report on the job. */
export type ClaimResult =
  | {
      readonly outcome: "leased";
      readonly lease: Lease;
      readonly checkpoint: Artifact | null;
      /** gRPC address of the front that has the job's caller; undefined for a polled job. */
      readonly reportTo?: string;
    }
  /** Another worker holds a live lease: publish to a retry queue, then acknowledge. */
  | { readonly outcome: "busy"; readonly retryAfterMs: number }
  /** The job has ended (or never was): acknowledge. */
  | { readonly outcome: "already-done" };

export interface LeaseRef {
  readonly jobId: string;
  readonly token: number;
  /** W3C trace context of the call; beside the message, not in it. */
  readonly traceparent?: string | undefined;
}

/** Leases of one key are one attempt at one job. */
export function leaseKey({ jobId, token }: LeaseRef): string {
  return `${jobId}/${token}`;
}

export interface ClaimOptions {
  /** W3C trace context of the claim. */
  readonly traceparent?: string | undefined;
}

/** Answer to a heartbeat. `stale`: this token lost the job, stop at once. */
export interface HeartbeatResult {
  readonly outcome: "held" | "stale";
  readonly leaseMs: number;
  /** The caller cancelled the job: stop it and report `cancelled`. */
  readonly cancel: boolean;
  /** The front wants this worker to finish its jobs and take no more. */
  readonly drain: boolean;
}

/** One message of the report stream: progress and what was made of the answer since the last one. */
export interface ProgressReport extends LeaseRef {
  /** Share of the job done, 0 to 1. */
  readonly fraction: number;
  readonly stage: string;
  readonly chunks?: readonly Chunk[];
}

/** What the job costs: the lease's prices times the usage. Money is integer micro-dollars. */
export interface CostReport {
  readonly prices: Prices;
  readonly amountMicroUsd: number;
}

export interface CompletionReport extends LeaseRef {
  readonly usage: Usage;
  readonly cost: CostReport;
  readonly artifacts: readonly Artifact[];
  /** What the pipeline says of its output, e.g. `{frameCount: 96}`. */
  readonly output: unknown;
}

/** `recorded` also when the same report was recorded before: reports may be repeated. */
export interface CompletionResult {
  readonly outcome: "recorded" | "stale";
}

export interface FailureReport extends LeaseRef {
  readonly failure: JobFailure;
  /** Whether another attempt may succeed; the front decides whether there is one. */
  readonly retryable: boolean;
  readonly gpuMs: number;
}

export interface FailureResult {
  /** `retry`: publish to a retry queue with this delay; `failed`: the job has ended. */
  readonly outcome: "retry" | "failed" | "stale";
  readonly retryAfterMs: number;
}

/** Gives the lease back without blame (drain, preemption); the job stays `in_progress`. */
export interface ReleaseReport extends LeaseRef {
  readonly checkpoint: Artifact | null;
  readonly gpuMs: number;
}

export const WORKER_STATES = [
  "starting",
  "ready",
  "busy",
  "unready",
  "draining",
  "stopped",
] as const;

/** A worker, as its operator sees it. */
export interface WorkerStatus {
  readonly workerId: string;
  readonly state: (typeof WORKER_STATES)[number];
  /** Public names. */
  readonly models: readonly string[];
  /** Jobs it runs at a time. */
  readonly slots: number;
  /** Jobs it holds now. */
  readonly running: number;
  /** Name of the GPU or processor it computes on. */
  readonly device: string;
  /** Held by the worker and its inference process. */
  readonly memoryBytes: number;
  /** What its machine costs an hour, in nano-dollars; 0 where nobody has said. */
  readonly nanoUsdPerHour: number;
  /** Since the start of its process; 0 of a worker that does not count it. */
  readonly uptimeMs: number;
  /** Of these, until it was first ready. */
  readonly startingMs: number;
  /** Of these, with at least one job in hand. */
  readonly busyMs: number;
}

/** `drain`: finish what is held and take no more, until an answer says otherwise. */
export interface WorkerOrders {
  readonly drain: boolean;
}

/** Where an attempt's progress and the pieces of its answer go while it runs. */
export interface ProgressStream {
  /** Fire and forget; when the stream is slow or away the newest progress wins, and no chunk is lost. */
  progress(report: ProgressReport): void;
  /** Resolves once the front has taken all chunks of the attempt: true; or when `signal` aborts: false. */
  flush(lease: LeaseRef, signal: AbortSignal): Promise<boolean>;
  /** The attempt ended: nothing of it needs to be sent any more. */
  forget(lease: LeaseRef): void;
  /** Whether the connection stands; one that is lost is opened again. */
  readonly connected: boolean;
}

/** The worker's side of the contract, at any front over the ledger; `rpc/reporter` carries it over gRPC. */
export interface Reporter {
  claim(jobId: string, workerId: string, options?: ClaimOptions): Promise<ClaimResult>;
  heartbeat(lease: LeaseRef, workerId: string): Promise<HeartbeatResult>;
  complete(report: CompletionReport): Promise<CompletionResult>;
  fail(report: FailureReport): Promise<FailureResult>;
  release(report: ReleaseReport): Promise<CompletionResult>;
  announce(status: WorkerStatus): Promise<WorkerOrders>;
  close(): Promise<void>;
}
