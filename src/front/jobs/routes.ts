import { setMaxListeners } from "node:events";
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import {
  type Db,
  cancelJob,
  type JobNotifications,
  type Database,
  deleteJob,
  findJob,
  type JobRecord,
  type JobScope,
  listJobs,
  nanoUsdOf,
  sql,
} from "../ledger/index.js";
import type { Artifact } from "../../core/artifact.js";
import { EVENT_STREAM, serverSentEvent } from "../../core/answer.js";
import { JobError, resourceCode } from "../../core/errors.js";
import { isEndState } from "../../core/job.js";
import type { Modality, ModelInfo, JobView, PublicObject } from "../../core/modality.js";
import type { ServiceTier } from "../../core/service-tier.js";
import type { Units } from "../../core/usage.js";
import type { ArtifactStore } from "../../storage/index.js";
import {
  abortOnClose,
  callerOf,
  type ChargeObject,
  type DeletedObject,
  getModel,
  LINK_SECONDS,
  type LinkObject,
  type LongBodies,
  type ObjectList,
  renderModel,
  renderModels,
  type WatchLimit,
  shownFailure,
} from "../http/index.js";
import { chooseArtifact, sendArtifact, readOutput, sendPicture } from "./content.js";
import type { Estimates } from "./estimates.js";
import { type EventsOptions, jobEvents, parseWait, waitForEnd, type LookAtJob } from "./events.js";
import { LIVE_WAIT_MS, type LiveClips, parseLive, requireLive } from "./live.js";
import { sendReply, startReply, type RepliesOptions } from "./replies.js";
import { readSubmission, type Submission, type SubmitJob } from "./submit-job.js";

export interface RoutesOptions {
  readonly database: Database;
  readonly store: ArtifactStore;
  readonly notifications: JobNotifications;
  readonly look: LookAtJob;
  readonly watches: WatchLimit;
  readonly live: LiveClips;
  readonly estimates: Estimates;
  readonly models: readonly ModelInfo[];
  readonly longBodies: LongBodies;
  readonly submitJob: SubmitJob;
  readonly replies: RepliesOptions;
  readonly publicUrl: string | undefined;
  readonly randomBytes: (byteLength: number) => Uint8Array;
  /** Aborts when the server closes: long answers end. */
  readonly closing: AbortSignal;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** How long an answer under way keeps a closing server, in milliseconds. */
const CLOSE_GRACE_MS = 20_000;

interface JobRequest {
  Params: { readonly id: string };
  Querystring: {
    readonly wait?: unknown;
    readonly variant?: unknown;
    readonly live?: unknown;
    readonly stream?: unknown;
    readonly starting_after?: unknown;
  };
}

type JobCall = FastifyRequest<JobRequest>;

interface ListRequest {
  Params: JobRequest["Params"];
  Querystring: RawPageQuery;
}

/** One modality's jobs, as the handlers below see them. */
interface Resource extends RoutesOptions {
  readonly modality: Modality;
  /** With its output, where that is kept. */
  readonly view: (job: JobRecord) => Promise<JobView>;
  readonly render: (job: JobRecord) => Promise<PublicObject>;
}

/** What belongs to no modality: the models, and what jobs have cost. */
export function addCommonRoutes(
  app: FastifyInstance,
  { models, database }: Pick<RoutesOptions, "models" | "database">,
): void {
  app.get("/v1/models", async () => renderModels(models));
  app.get<JobRequest>("/v1/models/:id", async ({ params }) =>
    renderModel(getModel(models, params.id), params.id),
  );
  app.get<JobRequest>("/v1/charges/:id", (request) =>
    readCharge(database, callerOf(request).project.id, request.params.id),
  );
}

/** The resource of one polled modality: create, list, read, watch, cancel, download, delete. */
export function addJobRoutes(
  app: FastifyInstance,
  modality: Modality,
  options: RoutesOptions,
): void {
  const { path } = modality.endpoint;
  const resource = createResource(modality, options);
  const post = routeOptions(modality);
  app.post(path, post, (request) => create(resource, request));
  app.get<{ Querystring: RawPageQuery }>(path, (request) => list(resource, request, request.query));
  addResourceRoutes(app, resource);
  app.get<JobRequest>(`${path}/:id/events`, (...call) => follow(resource, ...call));
  app.route<JobRequest>({
    method: ["GET", "HEAD"],
    url: `${path}/:id/content`,
    exposeHeadRoute: false,
    handler: (...call) => download(resource, ...call),
  });
  app.get<JobRequest>(`${path}/:id/link`, (request) => link(resource, request));
  const { preview } = modality.endpoint;
  if (preview === undefined) return;
  app.get<JobRequest>(`${path}/:id/preview`, async (request, reply) => {
    const job = await getJob(resource, request, request.params.id);
    const { endpoint } = modality;
    return await sendPicture({ ...options, endpoint, preview }, job, reply);
  });
}

/** One replied modality: the answer to its request, and what it stored of it where it does. */
export function addReplyRoutes(
  app: FastifyInstance,
  modality: Modality,
  options: RoutesOptions,
): void {
  const { path, aliases = [], isResource = false } = modality.endpoint;
  const resource = createResource(modality, options);
  const own = routeOptions(modality);
  const post = { ...own, config: { ...own.config, spendsTokens: true } };
  // One for all requests: each would leave a listener on a signal that lives as long as the server.
  const closing = afterGrace(options.closing);
  for (const url of [path, ...aliases])
    app.post(url, post, (...call) => answer(resource, closing, ...call));
  if (isResource) addResourceRoutes(app, resource);
  if (modality.inputItems !== undefined)
    app.get<ListRequest>(`${path}/:id/input_items`, (request) => listInputItems(resource, request));
}

function routeOptions({ endpoint: { maxBodyBytes, maxBodyValues } }: Modality) {
  return {
    ...(maxBodyBytes !== undefined && { bodyLimit: maxBodyBytes }),
    config: { keepsLongBody: true, ...(maxBodyValues !== undefined && { maxBodyValues }) },
  };
}

function createResource(modality: Modality, options: RoutesOptions): Resource {
  const view = async (job: JobRecord): Promise<JobView> => {
    await options.estimates.refresh();
    const output = await readOutput(options.store, job);
    // An answer is its output; a polled object stays without.
    if (output === undefined && modality.endpoint.isResource === true)
      throw new JobError(
        resourceCode(modality.endpoint.object, "expired"),
        `the output of ${job.id} was too long to be kept for more than 24 hours`,
      );
    return toView(modality, { ...job, output: output ?? null }, options.estimates);
  };
  return {
    ...options,
    modality,
    view,
    render: async (job) => renderView(modality, await view(job)),
  };
}

function addResourceRoutes(app: FastifyInstance, resource: Resource): void {
  const { path } = resource.modality.endpoint;
  app.get<JobRequest>(`${path}/:id`, (...call) => read(resource, ...call));
  app.delete<JobRequest>(`${path}/:id`, (request) => remove(resource, request));
  app.post<JobRequest>(`${path}/:id/cancel`, (request) => cancel(resource, request));
}

async function answer(
  resource: Resource,
  closing: AbortSignal,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { modality, replies, publicUrl } = resource;
  const submission = await readSubmission(request, resource);
  if (submission.background !== undefined) return await begin(resource, submission, request, reply);
  const origin = originOf(request, publicUrl);
  const signal = abortOnClose(reply, closing);
  const running = await startReply(replies, submission, { origin, signal });
  reply.header("x-job-id", running.exchange.id);
  return await sendReply(modality, running, reply);
}

/** What goes on without its caller. */
async function begin(
  resource: Resource,
  submission: Submission,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { id } = await resource.submitJob(submission);
  const job = await getJob(resource, request, id);
  reply.header("x-job-id", id);
  if (submission.background === "read") return await resource.render(job);
  return sendEvents(resource, request, reply, { jobId: id, write: answerEvents(resource) });
}

/** Answers under way may end before the server does. */
function afterGrace(closing: AbortSignal): AbortSignal {
  const delayed = new AbortController();
  setMaxListeners(0, delayed.signal);
  const wait = () => setTimeout(() => delayed.abort(), CLOSE_GRACE_MS).unref();
  if (closing.aborted) wait();
  else closing.addEventListener("abort", wait, { once: true });
  return delayed.signal;
}

async function create(resource: Resource, request: FastifyRequest) {
  const submission = await readSubmission(request, resource);
  const { id } = await resource.submitJob(submission);
  return await resource.render(await getJob(resource, request, id));
}

async function list(resource: Resource, request: FastifyRequest, query: RawPageQuery) {
  const { limit, order, after } = parsePage(query);
  const afterSeq = after === undefined ? undefined : await findSeq(resource, request, after);
  const page = { limit: limit + 1, order, ...(afterSeq !== undefined && { afterSeq }) };
  const jobs = await listJobs(resource.database, scopeOf(resource, request), page);
  return renderPage(await Promise.all(jobs.map((job) => resource.render(job))), limit);
}

async function read(resource: Resource, request: JobCall, reply: FastifyReply) {
  const { id: jobId } = request.params;
  const waitMs = parseWait(request.query.wait);
  const readJob = () => getJob(resource, request, jobId);
  const job = await readJob();
  const from = firstEventAsked(resource, request, job);
  if (from !== undefined) {
    await resource.view(job); // an answer that is gone has a status, not a stream
    return sendEvents(resource, request, reply, { jobId, write: answerEvents(resource, from) });
  }
  if (waitMs === 0 || isEndState(job.state)) return await resource.render(job);
  const { notifications, now, look, watches, closing } = resource;
  const signal = abortOnClose(reply, closing);
  watches.take(scopeOf(resource, request).projectId, signal);
  const waiting = { jobId, waitMs, signal, now, look, read: readJob };
  return await resource.render(await waitForEnd(notifications, waiting));
}

async function follow(resource: Resource, request: JobCall, reply: FastifyReply) {
  const { id: jobId } = request.params;
  const { modality, estimates } = resource;
  await getJob(resource, request, jobId);
  await estimates.refresh();
  const write = (job: JobRecord) =>
    serverSentEvent(renderView(modality, toView(modality, job, estimates)));
  return sendEvents(resource, request, reply, { jobId, write });
}

/** Writes of an answer's events those that were not written yet, from one on. */
function answerEvents({ modality, view }: Resource, from = 0) {
  let written = from;
  return async (job: JobRecord): Promise<string> => {
    const due = modality.events?.(await view(job)).slice(written) ?? [];
    written += due.length;
    return due.join("");
  };
}

function sendEvents(
  resource: Resource,
  request: FastifyRequest,
  reply: FastifyReply,
  { jobId, write }: Pick<EventsOptions, "jobId" | "write">,
) {
  const { notifications, closing, now, database, look, watches } = resource;
  const scope = scopeOf(resource, request);
  const signal = abortOnClose(reply, closing);
  watches.take(scope.projectId, signal);
  const events = jobEvents(notifications, {
    jobId,
    signal,
    now,
    look,
    read: () => findJob(database, scope, jobId),
    write,
  });
  reply.headers({
    "content-type": EVENT_STREAM,
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  return reply.send(Readable.from(events, { objectMode: true }));
}

/** The number of the first event that the caller has not got; undefined where none are asked for. */
function firstEventAsked(
  { modality }: Resource,
  { query: { stream = "false", starting_after: last } }: JobCall,
  { is_awaited: isAwaited }: JobRecord,
): number | undefined {
  if (modality.events === undefined) return undefined;
  const refuse = (param: string, what: string): never => {
    throw new JobError("invalid_value", `${param} ${what}`, { param });
  };
  if (stream !== "true" && stream !== "false") refuse("stream", "must be true or false");
  const isNumber = typeof last === "string" && /^\d{1,6}$/.test(last);
  if (last !== undefined && !isNumber)
    refuse("starting_after", "must be the sequence number of an event");
  if (stream === "false") return undefined;
  if (isNumber && isAwaited) refuse("starting_after", "is for responses of background: true");
  return isNumber ? Number(last) + 1 : 0;
}

async function listInputItems(resource: Resource, request: FastifyRequest<ListRequest>) {
  const { limit, order, after } = parsePage(request.query);
  const job = await getJob(resource, request, request.params.id);
  const items = resource.modality.inputItems?.list(job.request, job.id) ?? [];
  const ordered = order === "asc" ? items : items.toReversed();
  const start = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && start === 0) throw unknownAfter();
  return renderPage(ordered.slice(start, start + limit + 1), limit);
}

async function cancel(resource: Resource, request: JobCall) {
  const { id } = request.params;
  const { projectId } = scopeOf(resource, request);
  await getJob(resource, request, id);
  await cancelJob(resource.database, id, projectId);
  resource.replies.cancelAtWorker(id);
  return await resource.render(await getJob(resource, request, id));
}

async function remove(resource: Resource, request: JobCall): Promise<DeletedObject> {
  const { id } = request.params;
  const { projectId } = scopeOf(resource, request);
  const db = resource.database;
  await getJob(resource, request, id);
  await cancelJob(db, id, projectId);
  resource.replies.cancelAtWorker(id);
  await deleteJob(db, id, projectId);
  await resource.store.removeAll(`${id}/`);
  return { id, object: `${resource.modality.endpoint.object}.deleted`, deleted: true };
}

async function download(resource: Resource, request: JobCall, reply: FastifyReply) {
  const { id } = request.params;
  const { modality, live, publicUrl } = resource;
  const form = parseLive(modality.endpoint, request.query);
  const waitMs = parseWait(request.query.wait, LIVE_WAIT_MS);
  if (form !== undefined) {
    const scope = scopeOf(resource, request);
    const readJob = async () => await getJob(resource, request, id);
    const folder = `${originOf(request, publicUrl)}/files/${id}/`;
    return await live.send(reply, form, { ...modality, ...scope, readJob, waitMs, folder });
  }
  const artifact = await askedArtifact(resource, request);
  const name = artifact.variant === "content" ? id : `${id}-${artifact.variant}`;
  return await sendArtifact(resource.store, request, reply, { artifact, name });
}

/** An address that downloads the file without a key: what a player or a page can be given. */
async function link(resource: Resource, request: JobCall): Promise<LinkObject> {
  const { modality, replies, publicUrl } = resource;
  const form = parseLive(modality.endpoint, request.query);
  const { variant, mediaType } =
    form === undefined
      ? await askedArtifact(resource, request)
      : requireLive(modality.endpoint, await getJob(resource, request, request.params.id), form);
  const path = replies.links.make(request.params.id, variant);
  const url = `${originOf(request, publicUrl)}${path}`;
  return { object: "link", url, media_type: mediaType, expires_in: LINK_SECONDS };
}

/** The file that `?variant=` names. */
async function askedArtifact(resource: Resource, request: JobCall): Promise<Artifact> {
  const job = await getJob(resource, request, request.params.id);
  return chooseArtifact(resource.modality.endpoint, job, request.query.variant);
}

function originOf(request: FastifyRequest, publicUrl: string | undefined): string {
  return publicUrl ?? `${request.protocol}://${request.host}`;
}

async function getJob(resource: Resource, request: FastifyRequest, id: string): Promise<JobRecord> {
  const { object } = resource.modality.endpoint;
  const job = await findJob(resource.database, scopeOf(resource, request), id);
  if (job?.kept === true) return job;
  const message = `no ${object} has the id ${JSON.stringify(id)}`;
  throw new JobError(resourceCode(object, "not_found"), message, { param: "id" });
}

async function findSeq(resource: Resource, request: FastifyRequest, id: string): Promise<number> {
  const job = await findJob(resource.database, scopeOf(resource, request), id);
  if (job !== undefined) return job.seq;
  throw unknownAfter();
}

function unknownAfter(): JobError {
  return new JobError("invalid_value", "after must be the id of an object of the list", {
    param: "after",
  });
}

function scopeOf({ modality }: Resource, request: FastifyRequest): JobScope {
  return { projectId: callerOf(request).project.id, modality: modality.name };
}

/** The public object of a job. */
function renderView(modality: Modality, job: JobView): PublicObject {
  if (modality.render !== undefined) return modality.render(job);
  throw new JobError("server_error", `${modality.name} has no object`);
}

function toView({ schemas }: Modality, record: JobRecord, estimates: Estimates): JobView {
  const completed = record.state === "completed";
  return {
    id: record.id,
    model: record.model,
    serviceTier: record.service_tier,
    state: record.state,
    request: record.request,
    progress: record.progress,
    stage: record.state === "in_progress" ? record.stage : null,
    createdAtMs: record.created_at.getTime(),
    startedAtMs: record.started_at?.getTime() ?? null,
    completedAtMs: completed ? (record.ended_at?.getTime() ?? null) : null,
    expiresAtMs: record.expires_at?.getTime() ?? null,
    failure: record.failure && shownFailure(record.failure),
    queuePosition: queuePosition(record),
    etaSeconds: estimates.etaSeconds(record),
    quote: {
      prices: record.prices,
      units: record.quoted_units,
      amountNanoUsd: record.amount_nano_usd,
    },
    chargedNanoUsd: record.charged_nano_usd ?? (record.state === "failed" ? 0 : null),
    usage: record.usage,
    output: outputOf(schemas, record),
  };
}

/** Null until the job completed, and where it is forgotten. */
function outputOf({ output }: Modality["schemas"], record: JobRecord): unknown {
  return record.output === null ? null : output.parse(record.output);
}

/** 1 = next to start, 0 = started, null once the job has ended. */
function queuePosition({ state, jobs_ahead: ahead }: JobRecord): number | null {
  if (state === "queued") return ahead === null ? null : ahead + 1;
  return state === "in_progress" ? 0 : null;
}

/** What a job has cost, once it has ended and cost anything. */
async function readCharge(db: Db, projectId: string, id: string): Promise<ChargeObject> {
  const { rows } = await sql<{
    readonly nano_usd: number;
    readonly service_tier: ServiceTier;
    readonly counted_units: Units;
    readonly created_at: Date;
  }>`SELECT ${nanoUsdOf("charges")} AS nano_usd, service_tier, counted_units, created_at FROM charges
    WHERE job_id = ${id} AND project_id = ${projectId}`.execute(db);
  const [charge] = rows;
  if (charge === undefined)
    throw new JobError("not_found", `no charge for the id ${JSON.stringify(id)}`, {
      param: "id",
    });
  return {
    id,
    object: "charge",
    currency: "usd",
    amount: charge.nano_usd / 1_000_000_000,
    service_tier: charge.service_tier,
    units: charge.counted_units,
    created_at: Math.floor(charge.created_at.getTime() / 1_000),
  };
}

interface PageQuery {
  readonly limit: number;
  readonly order: "asc" | "desc";
  /** Id of the last object of the page before. */
  readonly after: string | undefined;
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/** The query string of a list request, as it came. */
interface RawPageQuery {
  readonly limit?: unknown;
  readonly order?: unknown;
  readonly after?: unknown;
}

function parsePage({ limit, order, after }: RawPageQuery): PageQuery {
  return { limit: parseLimit(limit), order: parseOrder(order), after: parseAfter(after) };
}

/** A list answer; the page was read one longer to know whether more follow. */
function renderPage(objects: readonly PublicObject[], limit: number): ObjectList {
  const data = objects.slice(0, limit);
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: objects.length > limit,
  };
}

function parseLimit(value: unknown): number {
  if (value === undefined) return DEFAULT_LIMIT;
  const limit = typeof value === "string" && /^\d{1,3}$/.test(value) ? Number(value) : 0;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new JobError("invalid_value", `limit must be 1 to ${MAX_LIMIT}`, { param: "limit" });
}

function parseOrder(value: unknown): PageQuery["order"] {
  if (value === undefined) return "desc";
  if (value === "asc" || value === "desc") return value;
  throw new JobError("invalid_value", "order must be asc or desc", { param: "order" });
}

function parseAfter(value: unknown): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw new JobError("invalid_value", "after must be one id", { param: "after" });
}
