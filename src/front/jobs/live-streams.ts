import { JobError } from "../../core/errors.js";
import { type Chunk, sizeOfChunk } from "../../core/events.js";
import type { HeartbeatResult, LeaseRef, ProgressReport } from "../../core/reports.js";
import type { Units } from "../../core/usage.js";
import type { AnsweredJob } from "../ledger/index.js";

const STALE = { outcome: "stale", cancel: false } as const;

type Taken = Pick<HeartbeatResult, "outcome" | "cancel">;

/** Requests of this replica that wait for their answers, and what workers have sent of them. */
export interface LiveStreams {
  /** Begins to collect a job's chunks; the caller closes it. */
  open(jobId: string): LiveStream;
  /** What a report of a waiting job does; undefined for any other job. */
  take(report: ProgressReport): Promise<Taken> | undefined;
  /** A waiting job's lease is this one, for so long from now: its reports are believed without a look. */
  hold(lease: LeaseRef, leaseMs: number): void;
  /** Whether a caller of this replica waits for the job. */
  awaits(jobId: string): boolean;
  /** Hands a completed job to whoever waits for it here. */
  complete(job: AnsweredJob): void;
}

export interface LiveStream {
  /** Chunks in order, for one reader; ends after `end`, throws after `fail`. */
  readonly chunks: AsyncIterable<Chunk>;
  /** Aborts when more lies unread than is kept; what lay there is dropped. */
  readonly overrun: AbortSignal;
  /**
   * Units of what the caller was given. A chunk is, once the reader asks for the next one: an answer's
   * pieces are asked for when those before them were written to the connection.
   */
  readonly delivered: Units;
  /** Resolves to the job once this replica has recorded that it completed; it may also never do so. */
  readonly completed: Promise<AnsweredJob>;
  end(): void;
  fail(error: Error): void;
  /** Nobody reads any more: the answer to the worker's next report says so. */
  close(): void;
}

/** Unread bytes of an answer, JSON as its text; a caller who is this slow is let go. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

export interface LiveStreamsOptions {
  /** Milliseconds for which the lease still holds; undefined where the job is not its own. */
  readonly findLease: (lease: LeaseRef) => Promise<number | undefined>;
  /** Milliseconds of a clock that only goes forward. */
  readonly now: () => number;
}

export function createLiveStreams(options: LiveStreamsOptions): LiveStreams {
  const waiting = new Map<string, ChunkStream>();
  return {
    open(jobId) {
      const queue = new ChunkStream(options);
      waiting.set(jobId, queue);
      return {
        chunks: queue,
        overrun: queue.overrun.signal,
        get delivered() {
          return queue.delivered;
        },
        completed: queue.completed,
        end: () => queue.end(),
        fail: (error) => queue.fail(error),
        close() {
          queue.end();
          waiting.delete(jobId);
        },
      };
    },
    take: (report) => waiting.get(report.jobId)?.take(report),
    hold: (lease, leaseMs) => waiting.get(lease.jobId)?.hold(lease, leaseMs),
    awaits: (jobId) => waiting.has(jobId),
    complete: (job) => waiting.get(job.id)?.complete(job),
  };
}

interface Unread {
  readonly chunk: Chunk;
  readonly byteLength: number;
}

class ChunkStream implements AsyncIterable<Chunk> {
  readonly overrun = new AbortController();
  delivered: Units = {};
  #unread: Unread[] = [];
  #unreadBytes = 0;
  #wasRead = false;
  /** Of the attempt whose chunks lie here. */
  #token = 0;
  /** What is known of the job's lease. */
  #lease = { token: 0, untilMs: 0 };
  readonly #options: LiveStreamsOptions;
  #ended = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;
  complete: (job: AnsweredJob) => void = () => {};
  readonly completed = new Promise<AnsweredJob>((resolve) => (this.complete = resolve));

  constructor(options: LiveStreamsOptions) {
    this.#options = options;
  }

  hold({ token }: LeaseRef, leaseMs: number): void {
    if (token < this.#lease.token) return;
    this.#lease = { token, untilMs: this.#options.now() + leaseMs };
  }

  /** An attempt that follows another may begin anew only while nothing of the first was read. */
  async take(report: ProgressReport): Promise<Taken> {
    if (!this.#ended && !(await this.#isHeld(report))) return STALE;
    const { token, chunks = [] } = report;
    if (token < this.#token) return STALE;
    if (token > this.#token && !this.#ended) this.#begin(token);
    if (this.#ended) return { outcome: "held", cancel: true };
    for (const chunk of chunks) {
      const byteLength = sizeOfChunk(chunk);
      this.#unread.push({ chunk, byteLength });
      this.#unreadBytes += byteLength;
    }
    if (this.#unreadBytes > MAX_UNREAD_BYTES) this.#giveUp();
    else if (chunks.length > 0) this.#wake?.();
    return { outcome: "held", cancel: this.#ended };
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  fail(error: Error): void {
    this.#error ??= error;
    this.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Chunk> {
    for (;;) {
      const next = this.#unread.shift();
      if (next !== undefined) {
        this.#wasRead = true;
        this.#unreadBytes -= next.byteLength;
        yield next.chunk;
        this.delivered = next.chunk.units ?? this.delivered;
      } else if (this.#error !== undefined) throw this.#error;
      else if (this.#ended) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Asks the ledger once an attempt, and again only where nothing here has renewed the lease. */
  async #isHeld({ jobId, token }: ProgressReport): Promise<boolean> {
    const { findLease, now } = this.#options;
    if (token < this.#lease.token) return false;
    if (token === this.#lease.token && now() < this.#lease.untilMs) return true;
    const leaseMs = await findLease({ jobId, token });
    if (leaseMs === undefined) return false;
    this.hold({ jobId, token }, leaseMs);
    return token === this.#lease.token;
  }

  #begin(token: number): void {
    this.#token = token;
    this.#drop();
    if (!this.#wasRead) return;
    const message = "the worker was lost in the middle of the answer";
    this.fail(new JobError("inference_crashed", message));
  }

  #giveUp(): void {
    this.#drop();
    this.fail(new JobError("request_timeout", "the answer was read too slowly"));
    this.overrun.abort();
  }

  #drop(): void {
    this.#unread = [];
    this.#unreadBytes = 0;
  }
}
