import type { ClientDuplexStream } from "@grpc/grpc-js";
import { type Chunk, sizeOfChunk } from "../core/events.js";
import { leaseKey, type LeaseRef, type ProgressReport } from "../core/reports.js";
import type { ReportRequest } from "./gen/framemill/v1/ReportRequest.js";
import type { ReportResponse__Output } from "./gen/framemill/v1/ReportResponse.js";
import { decodeReportResponse, encodeReportRequest, type SequencedReport } from "./messages.js";

type Call = ClientDuplexStream<ReportRequest, ReportResponse__Output>;

export interface ReportStreamOptions {
  open(): Call;
  /** The front says that an attempt should stop. May come more than once. */
  readonly onDirective: (lease: LeaseRef, directive: Directive) => void;
}

/** `stale`: the token lost the job. `cancel`: the caller does not want it any more. */
export type Directive = "stale" | "cancel";

/** What is known of one attempt's reports. */
interface Attempt {
  readonly lease: LeaseRef;
  /** Number of the last message written. */
  sequence: number;
  /** Not yet written: the newest progress and all chunks since the last message. */
  pending: ProgressReport | null;
  /** Written with chunks, not yet acknowledged; written again on the next stream. */
  unacknowledged: SequencedReport[];
  settled: (() => void)[];
}

/** Chunks of one message, in bytes of their JSON or their own. */
const MAX_CHUNKS_BYTES = 192 * 1_024;

/** First and longest wait before a lost stream is opened again, in milliseconds. */
const FIRST_REOPEN_MS = 200;
const LONGEST_REOPEN_MS = 3_000;

/**
 * The long-lived stream of one worker. While it is slow or away, progress collapses to the newest
 * value and chunks wait; they are kept until acknowledged, so a lost stream loses none.
 */
export class ReportStream {
  readonly #options: ReportStreamOptions;
  readonly #attempts = new Map<string, Attempt>();
  #call: Call | null = null;
  #choked = false;
  #reopenTimer: NodeJS.Timeout | null = null;
  #reopenMs = FIRST_REOPEN_MS;
  #closed = false;

  constructor(options: ReportStreamOptions) {
    this.#options = options;
  }

  push(report: ProgressReport): void {
    if (this.#closed) return;
    const attempt = this.#attempt(report);
    attempt.pending = merge(attempt.pending, report);
    this.#pump();
  }

  /** Waits until all chunks of the attempt are acknowledged; false where `signal` aborts before. */
  async flush(lease: LeaseRef, signal: AbortSignal): Promise<boolean> {
    const attempt = this.#attempts.get(leaseKey(lease));
    if (attempt === undefined || isSettled(attempt)) return true;
    if (signal.aborted) return false;
    return await new Promise<boolean>((resolve) => {
      const giveUp = () => resolve(false);
      signal.addEventListener("abort", giveUp, { once: true });
      attempt.settled.push(() => {
        signal.removeEventListener("abort", giveUp);
        resolve(true);
      });
    });
  }

  /** The attempt ended: nothing of it needs to be sent any more. */
  forget(lease: LeaseRef): void {
    const attempt = this.#attempts.get(leaseKey(lease));
    for (const resolve of attempt?.settled ?? []) resolve();
    this.#attempts.delete(leaseKey(lease));
  }

  close(): void {
    this.#closed = true;
    if (this.#reopenTimer !== null) clearTimeout(this.#reopenTimer);
    for (const { lease } of this.#attempts.values()) this.forget(lease);
    this.#call?.end();
  }

  #attempt({ jobId, token }: LeaseRef): Attempt {
    const key = leaseKey({ jobId, token });
    const known = this.#attempts.get(key);
    if (known !== undefined) return known;
    const attempt: Attempt = {
      lease: { jobId, token },
      sequence: 0,
      pending: null,
      unacknowledged: [],
      settled: [],
    };
    this.#attempts.set(key, attempt);
    return attempt;
  }

  /** Writes what is pending for as long as the stream takes it. */
  #pump(): void {
    const call = this.#call ?? this.#open();
    if (call === null) return;
    for (const attempt of this.#attempts.values()) {
      while (attempt.pending !== null && !this.#choked) this.#writeNext(call, attempt);
      if (this.#choked) return;
    }
  }

  #writeNext(call: Call, attempt: Attempt): void {
    if (attempt.pending === null) return;
    const { chunks = [], ...progress } = attempt.pending;
    const [first, rest] = cutChunks(chunks);
    const report = first.length === 0 ? progress : { ...progress, chunks: first };
    const message = { report, sequence: ++attempt.sequence };
    attempt.pending = rest.length === 0 ? null : { ...progress, chunks: rest };
    if (first.length > 0) attempt.unacknowledged.push(message);
    this.#write(call, message);
  }

  #write(call: Call, message: SequencedReport): void {
    if (!call.write(encodeReportRequest(message))) this.#choked = true;
  }

  #open(): Call | null {
    if (this.#reopenTimer !== null || this.#closed) return null;
    const call = this.#options.open();
    this.#call = call;
    this.#choked = false;
    call.on("data", (answer) => this.#read(answer));
    call.on("drain", () => {
      this.#choked = false;
      this.#pump();
    });
    // After an error grpc-js also ends the stream; whichever comes first counts.
    call.on("error", () => this.#lose(call));
    call.on("end", () => this.#lose(call));
    for (const { unacknowledged } of this.#attempts.values())
      for (const message of unacknowledged) this.#write(call, message);
    return call;
  }

  #lose(call: Call): void {
    if (this.#call !== call) return;
    this.#call = null;
    call.cancel();
    if (this.#closed) return;
    const waitMs = this.#reopenMs * (1 - Math.random() / 4);
    this.#reopenMs = Math.min(this.#reopenMs * 2, LONGEST_REOPEN_MS);
    this.#reopenTimer = setTimeout(() => {
      this.#reopenTimer = null;
      if (![...this.#attempts.values()].every(isSettled)) this.#pump();
    }, waitMs);
  }

  #read(answer: ReportResponse__Output): void {
    this.#reopenMs = FIRST_REOPEN_MS;
    const { lease, sequence, outcome, cancel } = decodeReportResponse(answer);
    const attempt = this.#attempts.get(leaseKey(lease));
    if (attempt === undefined) return;
    attempt.unacknowledged = attempt.unacknowledged.filter((sent) => sent.sequence > sequence);
    if (isSettled(attempt)) for (const resolve of attempt.settled.splice(0)) resolve();
    if (cancel) this.#options.onDirective(lease, "cancel");
    else if (outcome === "stale") this.#options.onDirective(lease, "stale");
  }
}

function isSettled({ pending, unacknowledged }: Attempt): boolean {
  return pending?.chunks === undefined && unacknowledged.length === 0;
}

function merge(older: ProgressReport | null, newer: ProgressReport): ProgressReport {
  const chunks = [...(older?.chunks ?? []), ...(newer.chunks ?? [])];
  return chunks.length === 0 ? newer : { ...newer, chunks };
}

/** As many chunks as one message takes, and the rest; bytes are cut where they do not fit. */
function cutChunks(chunks: readonly Chunk[]): [first: readonly Chunk[], rest: readonly Chunk[]] {
  let room = MAX_CHUNKS_BYTES;
  for (const [index, chunk] of chunks.entries()) {
    const size = sizeOfChunk(chunk);
    if (size <= room) {
      room -= size;
      continue;
    }
    const before = chunks.slice(0, index);
    const after = chunks.slice(index + 1);
    // A piece of JSON is never cut: one that is too long goes alone.
    if (chunk.type === "json")
      return index === 0 ? [[chunk], after] : [before, chunks.slice(index)];
    const head: Chunk = { type: "bytes", bytes: chunk.bytes.subarray(0, room) };
    // Its units come with its last byte.
    const tail: Chunk = { ...chunk, bytes: chunk.bytes.subarray(room) };
    return room === 0
      ? [before, chunks.slice(index)]
      : [
          [...before, head],
          [tail, ...after],
        ];
  }
  return [chunks, []];
}
