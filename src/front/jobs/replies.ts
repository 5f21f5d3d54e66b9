import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import pRetry from "p-retry";
import { EVENT_STREAM, serverSentEvent, type Answer } from "../../core/answer.js";
import { isOutage, JobError } from "../../core/errors.js";
import { fromFailure, isEndState } from "../../core/job.js";
import type { Exchange, Finished, Modality } from "../../core/modality.js";
import { atMost, nanoPriceOf, type Quote, tokensOf, type Units } from "../../core/usage.js";
import type { ArtifactStore } from "../../storage/index.js";
import {
  type AnsweredJob,
  type JobNotifications,
  type Database,
  type DeliveredCharge,
  endDisconnected,
  findJob,
  type Watch,
} from "../ledger/index.js";
import {
  type FileLinks,
  type Limits,
  renderError,
  shownFailure,
  toRequestError,
} from "../http/index.js";
import { KEEP_ALIVE, KEEP_ALIVE_MS, POLL_MS } from "./events.js";
import type { LiveStreams, LiveStream } from "./live-streams.js";
import { getArtifact, readOutput } from "./content.js";
import type { AcceptedJob, Submission, SubmitJob } from "./submit-job.js";

export interface RepliesOptions {
  readonly database: Database;
  readonly store: ArtifactStore;
  readonly notifications: JobNotifications;
  readonly streams: LiveStreams;
  readonly links: FileLinks;
  readonly limits: Limits;
  readonly submitJob: SubmitJob;
  /** Reaches the job's worker sooner than its next heartbeat. */
  readonly cancelAtWorker: (jobId: string) => void;
}

/** A job that runs while its caller waits. */
export interface RunningReply {
  readonly exchange: Exchange;
  /** Aborts when the caller reads so slowly that what is unread was given up. */
  readonly overrun: AbortSignal;
  /** What the whole job has taken of the project's tokens. */
  tokens(): Promise<number>;
  /** Cancels the job where it still runs. */
  close(): Promise<void>;
}

/** Submits a job and follows it until `signal` aborts or it is closed. */
export async function startReply(
  options: RepliesOptions,
  submission: Submission,
  { origin, signal }: { readonly origin: string; readonly signal: AbortSignal },
): Promise<RunningReply> {
  const { id, path } = submission;
  const open = options.streams.open(id);
  // Both stand before the job does: a worker may end it before the database has answered here.
  const watch = options.notifications.watch(id);
  try {
    const job = await options.submitJob(submission);
    if (job.id !== id) {
      open.close();
      watch.close();
      return await findReply(options, { ...submission, id: job.id }, { job, origin });
    }
    const ending = followEnd(options.database, { submission, signal, open, watch });
    const settled = settle(options, submission, ending);
    const { quote } = job;
    let isOver = false;
    let failure: unknown;
    // A failed job is closed like one that runs: that changes nothing.
    void ending.then(
      () => (isOver = true),
      (thrown: unknown) => (failure = thrown),
    );
    // What ended by the service's own fault is given.
    const isLeft = () => open.overrun.aborted || [signal.reason, failure].some(isCancelled);
    const exchange: Exchange = {
      id,
      model: job.model,
      serviceTier: job.serviceTier,
      path,
      createdAtMs: job.createdAtMs,
      request: job.request,
      chunks: open.chunks,
      ...endOf(options, { id, origin, ending }),
    };
    return {
      exchange,
      overrun: open.overrun,
      tokens: async () => countedTokens(submission, await ending),
      async close() {
        open.close();
        // What has completed cannot be cancelled.
        if (!isOver)
          await disconnect(options, submission, chargeFor(quote, isLeft() ? open.delivered : {}));
        await settled;
      },
    };
  } catch (error) {
    open.close();
    watch.close();
    throw error;
  }
}

interface EndedReply {
  readonly id: string;
  readonly origin: string;
  readonly ending: Promise<AnsweredJob>;
}

/** What an answer reads of a job's end. */
function endOf(options: RepliesOptions, { id, origin, ending }: EndedReply) {
  return {
    finished: async () => await finish(options, await ending),
    readFile: async (variant: string) =>
      await options.store.readBytes(getArtifact(await ending, variant).id),
    fileUrl: (variant: string) => `${origin}${options.links.make(id, variant)}`,
  };
}

/** The answer that an Idempotency-Key has had already; refused where it is under way, or no longer there. */
async function findReply(
  options: RepliesOptions,
  { id, path, caller, modality }: Submission,
  { job, origin }: { readonly job: AcceptedJob; readonly origin: string },
): Promise<RunningReply> {
  const { database, store } = options;
  const scope = { projectId: caller.project.id, modality: modality.name };
  const record = await findJob(database, scope, id);
  const output = record?.state === "completed" ? await readOutput(store, record) : undefined;
  if (record === undefined || output === undefined) throw repeated(id);
  const { model, serviceTier, request } = job;
  return {
    exchange: {
      id,
      model,
      serviceTier,
      path,
      createdAtMs: record.created_at.getTime(),
      request,
      // The pieces of a stream are kept nowhere.
      chunks: refuse(repeated(id)),
      ...endOf(options, { id, origin, ending: Promise.resolve(record) }),
    },
    overrun: new AbortController().signal,
    tokens: async () => 0,
    close: async () => {},
  };
}

// oxlint-disable-next-line require-yield
async function* refuse(error: JobError): AsyncGenerator<never> {
  throw error;
}

/** Sends the answer with the status of what went wrong, as long as nothing of it was sent. */
export async function sendReply(
  modality: Modality,
  running: RunningReply,
  reply: FastifyReply,
): Promise<unknown> {
  if (modality.answer === undefined)
    throw new JobError("server_error", `${modality.name} does not answer`);
  let streaming = false;
  try {
    const answer = await modality.answer(running.exchange);
    const isWhole = "json" in answer || !isStream(answer.body);
    if (isWhole) countTokens(reply.request, await running.tokens());
    if ("json" in answer) return await reply.send(answer.json);
    reply.type(answer.mediaType).headers(answer.headers ?? {});
    if (!isStream(answer.body)) return await reply.send(answer.body);
    const body = await begin(answer.body, answer.mediaType);
    streaming = true;
    reply.headers({ "cache-control": "no-store", "x-accel-buffering": "no" });
    const stream = new PieceStream(withEnd(body, answer.mediaType, running));
    // A caller who reads nothing would not read an error either.
    running.overrun.addEventListener("abort", () => stream.destroy());
    return await reply.send(stream);
  } finally {
    if (!streaming) await running.close();
  }
}

interface Following {
  readonly submission: Submission;
  readonly signal: AbortSignal;
  readonly open: LiveStream;
  readonly watch: Watch;
}

/** Counts the tokens of a completed job. Never rejects. */
async function settle(
  { limits }: RepliesOptions,
  submission: Submission,
  ending: Promise<AnsweredJob>,
): Promise<void> {
  try {
    const tokens = countedTokens(submission, await ending);
    if (tokens > 0) limits.takeTokens(submission.caller.project, tokens);
  } catch {
    // Whoever waits for the end sees why it failed.
  }
}

function isCancelled(thrown: unknown): boolean {
  return thrown instanceof JobError && thrown.code === "cancelled";
}

/** What the delivered part of an answer costs: never more units than were quoted. */
function chargeFor({ prices, units: most }: Quote, delivered: Units): DeliveredCharge {
  const units = atMost(delivered, most);
  return { units, amountNanoUsd: nanoPriceOf(prices, units) };
}

/** Takes what the answer used off the allowance that its headers say. */
function countTokens(request: FastifyRequest, count: number): void {
  const { tokens } = request.allowances;
  const remaining = Math.max(0, tokens.remaining - count);
  request.allowances = { ...request.allowances, tokens: { ...tokens, remaining } };
}

/**
 * Cancels a job that still runs, charges for what its caller was given of the answer, and counts its
 * tokens. While the database is away the job's lease goes on, and so does the job: it is tried again
 * for some seconds.
 */
async function disconnect(
  { database, cancelAtWorker, limits }: RepliesOptions,
  { id, caller, isFree = false }: Submission,
  charge: DeliveredCharge,
): Promise<void> {
  const { project } = caller;
  const endOnce = async () =>
    await endDisconnected(database, { jobId: id, projectId: project.id, charge });
  try {
    const { wasOpen, isCharged } = await pRetry(endOnce, {
      retries: 5,
      minTimeout: 200,
      shouldRetry: ({ error }) => isOutage(error),
    });
    if (wasOpen) cancelAtWorker(id);
    const tokens = tokensOf(charge.units);
    if (isCharged && tokens > 0 && !isFree) limits.takeTokens(project, tokens);
  } catch {
    // The job ends by itself: it completes, or its lease does.
  }
}

function countedTokens({ isFree = false }: Submission, { usage }: AnsweredJob): number {
  return isFree ? 0 : tokensOf(usage ?? {});
}

/** The completed job; rejects with the failed one's error, or with the reason of `signal`. */
async function followEnd(
  database: Database,
  { submission, signal, open, watch }: Following,
): Promise<AnsweredJob> {
  const { id, caller, modality } = submission;
  const scope = { projectId: caller.project.id, modality: modality.name };
  try {
    for (;;) {
      const completed = await Promise.race([open.completed, watch.next(POLL_MS, signal)]);
      const record = completed ?? (await findJob(database, scope, id).catch(undefinedInOutage));
      if (record !== undefined && isEndState(record.state)) {
        if (record.state === "failed") throw failureOf(record);
        open.end();
        return record;
      }
      signal.throwIfAborted();
    }
  } catch (thrown) {
    const error = toRequestError(thrown);
    open.fail(error);
    throw error;
  } finally {
    watch.close();
  }
}

/** The job goes on without the database, so its caller waits on. */
function undefinedInOutage(thrown: unknown): undefined {
  if (!isOutage(thrown)) throw thrown;
}

async function finish({ store }: RepliesOptions, record: AnsweredJob): Promise<Finished> {
  const { usage, ended_at: endedAt } = record;
  const output = await readOutput(store, record);
  return { output, usage: usage ?? { gpuMs: 0 }, completedAtMs: endedAt?.getTime() ?? 0 };
}

function failureOf({ failure }: AnsweredJob): JobError {
  return fromFailure(shownFailure(failure ?? { code: "server_error", message: "the job failed" }));
}

function repeated(id: string): JobError {
  const message = `This Idempotency-Key was used before: the answer of ${id} is under way, or no longer kept.`;
  return new JobError("idempotency_conflict", message);
}

type StreamBody = AsyncIterable<string | Uint8Array>;
type Body = Exclude<Answer, { readonly json: unknown }>["body"];

function isStream(body: Body): body is StreamBody {
  return typeof body === "object" && Symbol.asyncIterator in body;
}

/**
 * Waits for the first piece: what fails before it is answered with a status. A stream of events begins
 * without it when it is long in coming, and says that it lives.
 */
async function begin(
  body: StreamBody,
  mediaType: string,
): Promise<AsyncGenerator<string | Uint8Array>> {
  const iterator = body[Symbol.asyncIterator]();
  const first = iterator.next();
  const isPaced = mediaType === EVENT_STREAM;
  if (!isPaced) await first;
  else await isSettledIn(first, KEEP_ALIVE_MS);
  return (async function* () {
    try {
      let next = first;
      for (;;) {
        while (isPaced && !(await isSettledIn(next, KEEP_ALIVE_MS))) yield KEEP_ALIVE;
        const { done = false, value } = await next;
        if (done) return;
        yield value;
        next = iterator.next();
      }
    } finally {
      await iterator.return?.();
    }
  })();
}

/** Whether it resolves in time; rejects where it does. Runs for every piece of every answer. */
function isSettledIn(promise: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, timeoutMs, false);
    promise.then(() => resolve(true), reject).finally(() => clearTimeout(timer));
  });
}

/** A stream of events ends in an error event; any other is broken off, so that it is not taken for whole. */
async function* withEnd(
  body: AsyncGenerator<string | Uint8Array>,
  mediaType: string,
  running: RunningReply,
): AsyncGenerator<Buffer> {
  try {
    for await (const piece of body) yield Buffer.from(piece);
  } catch (thrown) {
    if (mediaType !== EVENT_STREAM) throw thrown;
    yield Buffer.from(serverSentEvent(renderError(toRequestError(thrown)).body));
  } finally {
    await running.close();
  }
}

/**
 * A body whose next piece is asked for when the one before has gone out to the connection: whoever makes
 * the pieces knows by it what was delivered. Nothing is read ahead.
 */
class PieceStream extends Readable {
  readonly #pieces: AsyncGenerator<Uint8Array>;

  constructor(pieces: AsyncGenerator<Uint8Array>) {
    super({ read: () => {} });
    this.#pieces = pieces;
    // Whoever makes them cleans up; the connection does not wait for it.
    this.once("close", () => void pieces.return(undefined).catch(() => {}));
  }

  override pipe<Target extends NodeJS.WritableStream>(target: Target): Target {
    void this.#writeTo(target); // its failures end the stream
    return target;
  }

  async #writeTo(target: NodeJS.WritableStream): Promise<void> {
    try {
      for await (const piece of this.#pieces) if (!(await isWritten(target, piece))) return;
      if (this.destroyed) return;
      target.end();
      this.push(null);
      this.resume();
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }
}

/** Waits until the bytes have left this process; false where the connection closed before. */
function isWritten(target: NodeJS.WritableStream, piece: Uint8Array): Promise<boolean> {
  return new Promise((resolve) => {
    const onClose = () => resolve(false);
    target.once("close", onClose);
    target.write(piece, (error) => {
      target.off("close", onClose);
      resolve(error === undefined || error === null);
    });
  });
}
