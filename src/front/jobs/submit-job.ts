import type { FastifyRequest } from "fastify";
import {
  type Caller,
  type Db,
  sql,
  type Database,
  findJob,
  type InsertedJob,
  insertJobs,
  type NewJob,
  type Outbox,
  type OutgoingJob,
  reserveSpending,
  roomOf,
  withdrawJob,
} from "../ledger/index.js";
import { type Artifact, sentFolder } from "../../core/artifact.js";
import { JobError } from "../../core/errors.js";
import { type AdmitContext, isPolled, type Modality, type ModelInfo } from "../../core/modality.js";
import { findTierPrices, type PriceTable, tierOf } from "../../core/prices.js";
import { SERVICE_TIER_WORDS, SERVICE_TIERS, type ServiceTier } from "../../core/service-tier.js";
import { traced, type Tracer } from "../../core/tracing.js";
import { type Prices, type Quote, quote } from "../../core/usage.js";
import type { Broker } from "../../queue/index.js";
import type { ArtifactStore } from "../../storage/index.js";
import {
  chooseModel,
  callerOf,
  type LongBodies,
  LongJson,
  MAX_BODY_BYTES,
  readBody,
  type ReadBody,
  readMultipart,
  traceparentOf,
} from "../http/index.js";
import { groupCommit } from "../../core/async/group-commit.js";
import { readOutput } from "./content.js";

export interface Submission extends ReadBody {
  /** Chosen before: a worker may answer sooner than the database. */
  readonly id: string;
  readonly caller: Caller;
  readonly modality: Modality;
  readonly path: string;
  readonly idempotencyKey: string | null;
  /** The client says it has sent this before (`X-Stainless-Retry-Count` above 0). */
  readonly repeated: boolean;
  readonly traceparent: string | null;
  /** The service's own work for the caller: costs nothing and counts no tokens. */
  readonly isFree?: boolean;
}

interface DraftOptions {
  readonly store: ArtifactStore;
  readonly outbox: Outbox;
  readonly prices: PriceTable;
  /** Longest wait of a replied job, in milliseconds. */
  readonly replyTimeoutMs: number;
  /** Whether webhooks may go to this machine and to private networks. */
  readonly allowPrivateWebhooks: boolean;
}

export interface SubmitOptions extends DraftOptions {
  readonly database: Database;
  readonly broker: Broker;
  readonly models: readonly ModelInfo[];
  readonly tracer: Tracer;
  /** Throws `content_policy_violation` for what must not be made. */
  readonly checkContent: (submission: Submission, request: unknown) => Promise<void>;
}

/** Accepts a job: committed in the ledger, confirmed by the broker, or refused without a trace. */
export type SubmitJob = (submission: Submission) => Promise<AcceptedJob>;

export interface AcceptedJob {
  /** Another than the submission's where it repeats an earlier one. */
  readonly id: string;
  readonly model: string;
  readonly serviceTier: ServiceTier;
  readonly request: unknown;
  readonly quote: Quote;
  readonly createdAtMs: number;
}

const OUTAGE_RETRY_SECONDS = 2;

/** `video_` and 32 hexadecimal digits, for example. */
export function createJobId(
  { endpoint }: Modality,
  randomBytes: (byteLength: number) => Uint8Array,
): string {
  return `${endpoint.idPrefix}${Buffer.from(randomBytes(16)).toString("hex")}`;
}

/** Jobs that one transaction inserts. */
const MOST_TOGETHER = 32;
/** A longer request, in characters, goes into the ledger by itself. */
const MAX_SHARED_LENGTH = 16_384;

interface AcceptOptions extends SubmitOptions {
  /** Inserts a job in a transaction that it may share with others. */
  readonly insertAlone: (job: NewJob) => Promise<InsertedJob>;
}

export function createSubmitJob(submitOptions: SubmitOptions): SubmitJob {
  const { database: db } = submitOptions;
  const insert = async (jobs: readonly NewJob[]) => await insertJobs(db, jobs);
  const insertShared = groupCommit(insert, MOST_TOGETHER);
  const options: AcceptOptions = {
    ...submitOptions,
    insertAlone: async (job) =>
      job.textLength > MAX_SHARED_LENGTH ? await insertOne(db, job) : await insertShared(job),
  };
  return async (submission) => {
    const { id } = submission;
    const model = chooseModel(submission.body, submission.modality, options.models);
    if (!options.broker.connected) throw queueUnavailable();
    const forgetInputs = async (): Promise<void> => {
      await options.store.removeAll(`${id}/`);
    };
    const span = options.tracer.start("accept", { parent: submission.traceparent ?? undefined });
    const accepted = await traced(span, async () => {
      span.set({ "framemill.job.id": id, "framemill.model": model.id });
      return await acceptJob(options, submission, model);
    }).catch(async (error) => {
      await forgetInputs();
      throw error;
    });
    if (accepted.id !== id) await forgetInputs();
    else if (await isWithdrawn(options, accepted)) {
      await forgetInputs();
      throw queueUnavailable();
    }
    return accepted;
  };
}

interface Accepted extends AcceptedJob {
  /** Undefined for an earlier job, and for one that waits in the ledger. */
  readonly outgoing?: OutgoingJob | undefined;
}

async function insertOne(db: Db, job: NewJob): Promise<InsertedJob> {
  const [inserted] = await insertJobs(db, [job]);
  return inserted ?? { outgoing: undefined, createdAtMs: 0 };
}

async function acceptJob(
  options: AcceptOptions,
  submission: Submission,
  model: ModelInfo,
): Promise<Accepted> {
  const { database, checkContent } = options;
  const { id, modality, caller } = submission;
  const startDeadlineMs = readStartDeadline(submission);
  const serviceTier = readServiceTier(submission);
  const context = admitContext(options, submission, model);
  const request = submission.request ?? (await modality.admit(submission.body, context));
  await checkContent(submission, request);
  const job = await draftJob(options, submission, { model, serviceTier, request, startDeadlineMs });
  const accepted = { id, model: model.id, serviceTier, request, quote: job.quote };
  if (standsAlone(submission)) return { ...accepted, ...(await options.insertAlone(job)) };
  return await database.transaction(async (trx) => {
    const earlierId = await findEarlier(trx, submission);
    if (earlierId !== undefined) return { ...accepted, id: earlierId, createdAtMs: 0 };
    await reserveSpending(trx, caller.project, job.quote.amountNanoUsd);
    return { ...accepted, ...(await insertOne(trx, job)) };
  });
}

/** Whether one statement is enough: no earlier request to find, and no limit to keep to. */
function standsAlone(submission: Submission): boolean {
  const { caller, idempotencyKey } = submission;
  const isUnlimited = caller.project.monthlyLimitMicroUsd === null;
  return isAwaited(submission) && idempotencyKey === null && isUnlimited;
}

/** Whether the caller is answered by the job; else by its object. */
function isAwaited({ modality, background }: Submission): boolean {
  return !isPolled(modality) && background === undefined;
}

function admitContext(
  { database, store }: SubmitOptions,
  { id, path, caller, modality }: Submission,
  model: ModelInfo,
): AdmitContext {
  const scope = { projectId: caller.project.id, modality: modality.name };
  return {
    model,
    path,
    saveInput: inputSaver(store, id),
    async findEarlier(earlierId) {
      const earlier = await findJob(database, scope, earlierId);
      if (earlier === undefined || !earlier.kept || earlier.state !== "completed") return undefined;
      const output = await readOutput(store, earlier);
      return output === undefined ? undefined : { request: earlier.request, output };
    },
  };
}

/** Waits for the broker; a job it did not confirm is taken back unless a worker has it already. */
async function isWithdrawn(
  { database, outbox }: SubmitOptions,
  { outgoing }: Accepted,
): Promise<boolean> {
  if (outgoing === undefined) return false;
  return await outbox.publish(outgoing).then(
    () => false,
    async () => await withdrawJob(database, outgoing.id),
  );
}

/** The job that this request repeats. Requests with the same key or body come here one after the other. */
async function findEarlier(trx: Db, submission: Submission): Promise<string | undefined> {
  const { caller, modality, bodyHash, idempotencyKey, repeated } = submission;
  const subject = `${caller.project.id} ${idempotencyKey ?? bodyHash}`;
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${subject}, 0))`.execute(trx);
  if (idempotencyKey !== null) {
    const { rows } = await sql<{ id: string; body_hash: string; state: string }>`
      SELECT id, body_hash, state FROM jobs
      WHERE project_id = ${caller.project.id} AND idempotency_key = ${idempotencyKey}`.execute(trx);
    const [earlier] = rows;
    // Who waited for an answer and was refused has none: the key is free again.
    if (earlier?.state === "failed" && isAwaited(submission)) {
      await sql`UPDATE jobs SET idempotency_key = NULL WHERE id = ${earlier.id}`.execute(trx);
      return undefined;
    }
    if (earlier !== undefined && earlier.body_hash !== bodyHash)
      throw conflict("its first request had another body");
    return earlier?.id;
  }
  if (!repeated || isAwaited(submission)) return undefined;
  const { rows } = await sql<{ id: string }>`SELECT id FROM jobs
    WHERE api_key_id = ${caller.apiKeyId} AND modality = ${modality.name}
      AND body_hash = ${bodyHash} AND created_at > now() - interval '10 minutes'
      AND kept AND deleted_at IS NULL
    ORDER BY seq DESC LIMIT 1`.execute(trx);
  return rows[0]?.id;
}

function inputSaver(store: ArtifactStore, jobId: string): AdmitContext["saveInput"] {
  let saved = 0;
  return async (bytes, mediaType) => {
    saved += 1;
    const id = `${sentFolder(jobId)}input-${saved}.${mediaType.replace(/^.*\//, "").replace(/\W/g, "")}`;
    return await store.putBytes({ id, variant: "input", mediaType }, bytes);
  };
}

function queueUnavailable(): JobError {
  return new JobError("service_unavailable", "The queue takes no jobs at the moment.", {
    retryAfterSeconds: OUTAGE_RETRY_SECONDS,
  });
}

function conflict(reason: string): JobError {
  return new JobError("idempotency_conflict", `This Idempotency-Key was used before: ${reason}.`);
}

interface SubmissionOptions {
  readonly modality: Modality;
  readonly models: readonly ModelInfo[];
  readonly longBodies: LongBodies;
  readonly randomBytes: (byteLength: number) => Uint8Array;
}

/** What a creation request asks for and whether it says that it was sent before. */
export async function readSubmission(
  request: FastifyRequest,
  options: SubmissionOptions,
): Promise<Submission> {
  const { modality, randomBytes } = options;
  const idempotencyKey = parseIdempotencyKey(request.headers["idempotency-key"]);
  const path = request.routeOptions.url ?? modality.endpoint.path;
  const isHashed = idempotencyKey !== null;
  const read = await readRequest(request, { ...options, path, isHashed });
  request.ignoredParameters = read.ignored;
  return {
    ...read,
    id: createJobId(modality, randomBytes),
    path,
    caller: callerOf(request),
    modality,
    idempotencyKey,
    repeated: Number(request.headers["x-stainless-retry-count"] ?? 0) > 0,
    traceparent: traceparentOf(request),
  };
}

async function readRequest(
  request: FastifyRequest,
  options: SubmissionOptions & { readonly path: string; readonly isHashed: boolean },
): Promise<ReadBody> {
  const { modality, models, longBodies, path, isHashed } = options;
  const { maxBodyBytes = MAX_BODY_BYTES } = modality.endpoint;
  if (request.isMultipart()) return readBody(await readMultipart(request, maxBodyBytes), options);
  if (!(request.body instanceof LongJson)) return readBody(request.body, options);
  const { pieces } = request.body;
  const { maxBodyValues: maxValues } = request.routeOptions.config;
  const long = { pieces, modality, models, path, isHashed, maxValues };
  return await longBodies.read(long, callerOf(request).project.id);
}

function parseIdempotencyKey(header: string | string[] | undefined): string | null {
  if (header === undefined || header === "") return null;
  if (typeof header === "string" && /^[\x20-\x7e]{1,255}$/.test(header)) return header;
  throw new JobError("invalid_value", "Idempotency-Key must be 1 to 255 printable characters", {
    param: "Idempotency-Key",
  });
}

/** What fits a message; a longer request travels as a file. */
const MAX_MESSAGE_REQUEST_BYTES = 64 * 1024;
const POLL_DEADLINE_MS = 24 * 3_600_000;
const LONGEST_URL = 2_048;

/** Prices the request, and puts it into a file where it is too long for a message. */
async function draftJob(
  options: DraftOptions,
  submission: Submission,
  draft: {
    readonly model: ModelInfo;
    readonly serviceTier: ServiceTier;
    readonly request: unknown;
    readonly startDeadlineMs: number | null;
  },
): Promise<NewJob> {
  const { model, serviceTier, request, startDeadlineMs } = draft;
  const { store, outbox, prices: table, replyTimeoutMs } = options;
  const { id, modality, caller, isFree = false } = submission;
  const { name } = modality;
  const webhookUrl = chooseWebhook(options, submission);
  const text = JSON.stringify(request);
  const tier = tierOf(modality, request);
  const row = { modality: name, model: model.id, ...(tier !== undefined && { tier }) };
  const prices = isFree ? {} : getPrices(table, row, serviceTier);
  const tooLong = Buffer.byteLength(text) > MAX_MESSAGE_REQUEST_BYTES;
  return {
    id,
    projectId: caller.project.id,
    apiKeyId: caller.apiKeyId,
    modality: name,
    model: model.id,
    request,
    textLength: text.length,
    requestFile: tooLong ? await saveRequest(store, id, text) : null,
    quote: quote(prices, modality.mostUnits(request, model)),
    tier: tier ?? "",
    serviceTier,
    kept: isPolled(modality) || modality.isStored?.(request) === true,
    reportTo: isAwaited(submission) ? outbox.reportTo : null,
    deadlineMs: isAwaited(submission) ? replyTimeoutMs : POLL_DEADLINE_MS,
    startDeadlineMs,
    idempotencyKey: submission.idempotencyKey,
    bodyHash: submission.bodyHash,
    traceparent: submission.traceparent,
    webhookUrl,
    room: roomOf(model.concurrency),
  };
}

/** Refuses a service tier in which the model is not offered. */
function getPrices(
  table: PriceTable,
  row: Parameters<typeof findTierPrices>[1],
  serviceTier: ServiceTier,
): Prices {
  const prices = findTierPrices(table, row, serviceTier);
  if (prices !== undefined) return prices;
  const offered = SERVICE_TIERS.filter((tier) => findTierPrices(table, row, tier) !== undefined);
  const message = `service_tier ${serviceTier} is not offered for ${row.model}, which has ${offered.join(", ")}`;
  throw new JobError("invalid_value", message, { param: "service_tier" });
}

function readServiceTier({ serviceTier: given }: Submission): ServiceTier {
  if (given === undefined || given === null) return "default";
  const word = SERVICE_TIER_WORDS.find((known) => known === given);
  if (word !== undefined) return word === "auto" ? "default" : word;
  const shown = typeof given === "string" ? JSON.stringify(given.slice(0, 64)) : typeof given;
  const message = `service_tier must be one of ${SERVICE_TIER_WORDS.join(", ")}, got ${shown}`;
  throw new JobError("invalid_value", message, { param: "service_tier" });
}

/** Milliseconds of `start_deadline`; null where there is none. */
function readStartDeadline({ startDeadline: given }: Submission): number | null {
  if (given === undefined || given === null) return null;
  // Forms send numbers as text.
  const isText = typeof given === "string" && /^-?\d+(\.\d+)?(e[-+]?\d+)?$/i.test(given);
  const seconds = isText ? Number(given) : given;
  const longest = POLL_DEADLINE_MS / 1_000;
  if (typeof seconds === "number" && seconds > 0 && seconds <= longest)
    return Math.ceil(seconds * 1_000);
  const shown = typeof seconds === "number" ? String(seconds) : typeof seconds;
  const message = `start_deadline must be a number of seconds above 0 and at most ${longest}, got ${shown}`;
  throw new JobError("invalid_value", message, { param: "start_deadline" });
}

function chooseWebhook(
  { allowPrivateWebhooks }: DraftOptions,
  { webhookUrl, caller: { project } }: Submission,
): string | null {
  if (webhookUrl === undefined || webhookUrl === null) return null;
  const url = parseWebhookUrl(webhookUrl, allowPrivateWebhooks);
  if (project.hasWebhookSecret) return url;
  throw new JobError(
    "invalid_value",
    `webhook_url: project ${project.name} has no secret to sign with; its operator makes one`,
    { param: "webhook_url" },
  );
}

function parseWebhookUrl(value: unknown, allowPrivate: boolean): string {
  const refuse = (why: string): never => {
    throw new JobError("invalid_value", `webhook_url ${why}`, { param: "webhook_url" });
  };
  if (typeof value !== "string" || value.length > LONGEST_URL || !URL.canParse(value))
    return refuse(`must be a URL of at most ${LONGEST_URL} characters`);
  const { protocol, username, password } = new URL(value);
  if (protocol !== "https:" && !(allowPrivate && protocol === "http:"))
    return refuse("must begin with https://");
  if (username !== "" || password !== "") return refuse("must not hold a user name or password");
  return value;
}

async function saveRequest(store: ArtifactStore, id: string, text: string): Promise<Artifact> {
  const label = {
    id: `${sentFolder(id)}request.json`,
    variant: "request",
    mediaType: "application/json",
  };
  return await store.putBytes(label, Buffer.from(text));
}

/** Runs a job of the judging modality for the caller of `submission` and resolves to its output. */
export type RunJudge = (submission: Submission, body: unknown) => Promise<unknown>;

interface ContentCheckOptions {
  /** The moderation model; undefined = nothing is judged. */
  readonly model: string | undefined;
  /** The modality whose models judge texts. */
  readonly judge: Modality | undefined;
  readonly run: RunJudge;
}

/** Refuses prompts that the moderation model flags, before anything of the job is queued. */
export function createContentCheck({ model, judge, run }: ContentCheckOptions) {
  return async (submission: Submission, request: unknown): Promise<void> => {
    if (model === undefined || judge?.judge === undefined) return;
    const prompts = submission.modality.promptsOf?.(request) ?? [];
    const texts = prompts.filter((text) => text.trim() !== "");
    if (texts.length === 0) return;
    const flagged = judge.judge.flagged(await run(submission, judge.judge.body(model, texts)));
    if (flagged.length === 0) return;
    const message = `The prompt was blocked by the content policy: ${flagged.join(", ")}.`;
    const { promptParam = "prompt" } = submission.modality.endpoint;
    throw new JobError("content_policy_violation", message, { param: promptParam });
  };
}
