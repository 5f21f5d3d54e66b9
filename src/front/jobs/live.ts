import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { LIVE_HEAD, liveFolder } from "../../core/artifact.js";
import { groupCommit } from "../../core/async/group-commit.js";
import { JobError, resourceCode, toJobError } from "../../core/errors.js";
import { isEndState, type JobState } from "../../core/job.js";
import type { Endpoint } from "../../core/modality.js";
import { findModalityOfJob } from "../../modalities/registry.js";
import type { ArtifactStore } from "../../storage/index.js";
import { abortOnClose, type FileLinks, type WatchLimit } from "../http/index.js";
import {
  type Database,
  findJob,
  type JobNotifications,
  type JobRecord,
  sql,
} from "../ledger/index.js";
import { parseVariant, POLL_SECONDS, refuseEnded, unknownFile } from "./content.js";
import { KEEP_ALIVE_MS, type LookAtJob, untilPoll } from "./events.js";

/** How long a request waits for the first piece where it does not say, in milliseconds. */
export const LIVE_WAIT_MS = 30_000;
/** A viewer that takes nothing for so long is hung up on, in milliseconds. */
const STALL_MS = 60_000;
/** Longest piece of a list, in seconds, as key frames are set. */
const PIECE_SECONDS = 2;
/** Viewers that one look at the store serves. */
const MOST_TOGETHER = 512;
/**
 * A box without content (ISO/IEC 14496-12, 8.1.2), which says that the stream lives. It follows each piece, too:
 * browsers read by 32 KiB, and would keep what is left of a piece until the next one comes.
 */
const FREE_BOX = Buffer.alloc(32 * 1_024);
FREE_BOX.writeUInt32BE(FREE_BOX.byteLength);
FREE_BOX.write("free", 4, "latin1");

/** How a clip is played while it is made, as `?live=` names it: one stream, or a list of pieces (RFC 8216). */
const FORMS = {
  "1": { variant: "live", mediaType: "video/mp4" },
  hls: { variant: "live.m3u8", mediaType: "application/vnd.apple.mpegurl" },
} as const;

export type LiveForm = (typeof FORMS)[keyof typeof FORMS];

/** A piece of a clip in the store; times in milliseconds of the clip. */
interface Piece {
  readonly attempt: number;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
}

interface LiveOptions {
  readonly database: Database;
  readonly store: ArtifactStore;
  readonly notifications: JobNotifications;
  readonly look: LookAtJob;
  readonly watches: WatchLimit;
  readonly links: FileLinks;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Aborts when the server closes. */
  readonly closing: AbortSignal;
}

/** Whose clip is asked for, and how. */
interface Showing {
  readonly endpoint: Endpoint;
  readonly projectId: string;
  /** Throws where the job was deleted. */
  readonly readJob: () => Promise<JobRecord>;
  /** How long the first piece is waited for. */
  readonly waitMs: number;
  /** Where the addresses in a list begin: the clip's folder, as far as the list lies elsewhere. */
  readonly folder: string;
}

export interface LiveClips {
  /** Answers as soon as there is something to play; throws where there is nothing, or not any more. */
  send(reply: FastifyReply, form: LiveForm, showing: Showing): Promise<unknown>;
  /** The same by a signed link. */
  sendLinked(request: LinkedRequest, reply: FastifyReply, form: LiveForm): Promise<unknown>;
  /** One piece of a list. */
  sendPiece(request: PieceRequest, reply: FastifyReply): Promise<unknown>;
}

/** Undefined where it is not asked for. */
export function parseLive(
  endpoint: Endpoint,
  { live, variant }: { readonly live?: unknown; readonly variant?: unknown },
): LiveForm | undefined {
  if (live === undefined) return undefined;
  const refuse = (message: string): never => {
    throw new JobError("invalid_value", message, { param: "live" });
  };
  const { object, isLive } = endpoint;
  if (isLive !== true)
    return refuse(`live is for clips: a ${object} is not played while it is made`);
  if (live !== "1" && live !== "hls")
    return refuse(`live must be 1 or hls, got ${JSON.stringify(live).slice(0, 64)}`);
  const name = parseVariant(endpoint, variant);
  if (name === "content") return FORMS[live];
  const message = `a ${name} is not played while it is made: ask for it without live`;
  throw new JobError(resourceCode(object, "not_live"), message, { param: "variant" });
}

/** Throws where the job has ended: a list is served to its end all the same, see `send`. */
export function requireLive(endpoint: Endpoint, job: JobRecord, form: LiveForm): LiveForm {
  refuseEnded(endpoint, job);
  if (job.state !== "completed") return form;
  const message = `${job.id} is finished: read its content without live`;
  throw new JobError(resourceCode(endpoint.object, "not_live"), message, { param: "live" });
}

export function createLiveClips(options: LiveOptions): LiveClips {
  const { database, store, notifications, links, watches, closing } = options;
  const findPieces = createFindPieces(store);
  const viewing = { ...options, findPieces };
  const send: LiveClips["send"] = async (reply, form, showing) => {
    const { endpoint, projectId, readJob, waitMs, folder } = showing;
    const isStream = form === FORMS["1"];
    const job = await readJob();
    if (isStream || job.state === "failed") requireLive(endpoint, job, form);
    const signal = abortOnClose(reply, closing);
    watches.take(projectId, signal);
    const watch = notifications.watch(job.id);
    try {
      const first = await awaitPieces(viewing, watch, { jobId: job.id, fromMs: 0, waitMs, signal });
      if (first.pieces.length === 0) throw nothingYet(endpoint, await readJob(), form);
      reply
        .type(form.mediaType)
        .headers({ "cache-control": "no-store", "x-accel-buffering": "no" });
      if (!isStream) {
        const query = links.makeSteady(job.id, FORMS.hls.variant);
        return await reply.send(renderList(first, (path) => `${folder}live/${path}?${query}`));
      }
      if (reply.request.method === "HEAD") return await reply.send();
      reply.raw.setTimeout(STALL_MS, () => reply.raw.destroy());
      return await reply.send(
        Readable.from(playPieces(viewing, job.id, signal), { objectMode: true, highWaterMark: 1 }),
      );
    } finally {
      watch.close();
    }
  };
  const checkLink = (jobId: string, variant: string, { expires, signature }: LinkQuery): void => {
    if (typeof signature !== "string") throw unknownFile();
    if (!links.isValid({ jobId, variant, expires: Number(expires), signature }))
      throw unknownFile();
  };
  return {
    send,
    async sendLinked({ params: { jobId }, query }, reply, form) {
      checkLink(jobId, form.variant, query);
      const { rows } = await sql<{ project_id: string }>`SELECT project_id FROM jobs
        WHERE id = ${jobId}`.execute(database);
      const projectId = rows[0]?.project_id ?? "";
      const modality = findModalityOfJob(jobId);
      if (modality === undefined) throw unknownFile();
      const readJob = async () => {
        const job = await findJob(database, { projectId, modality: modality.name }, jobId);
        if (job?.kept !== true) throw unknownFile();
        return job;
      };
      const { endpoint } = modality;
      return await send(reply, form, {
        endpoint,
        projectId,
        readJob,
        waitMs: LIVE_WAIT_MS,
        folder: "",
      });
    },
    async sendPiece({ params: { jobId, attempt, name }, query }, reply) {
      checkLink(jobId, FORMS.hls.variant, query);
      if (!/^\d{1,9}$/.test(attempt)) throw unknownFile();
      const bytes = await readPiece(store, `${liveFolder(jobId, Number(attempt))}${name}`);
      // What a piece holds never changes.
      reply.header("cache-control", "private, max-age=3600").type("video/mp4");
      return await reply.send(bytes);
    },
  };
}

interface LinkQuery {
  readonly expires?: unknown;
  readonly signature?: unknown;
}

interface LinkedRoute {
  Params: { readonly jobId: string };
  Querystring: LinkQuery;
}

interface PieceRoute {
  Params: { readonly jobId: string; readonly attempt: string; readonly name: string };
  Querystring: LinkQuery;
}

type LinkedRequest = FastifyRequest<LinkedRoute>;
type PieceRequest = FastifyRequest<PieceRoute>;

/** Clips in the making by signed links, without a key, for players that can send none. */
export function addLiveRoutes(app: FastifyInstance, live: LiveClips): void {
  for (const form of Object.values(FORMS))
    app.get<LinkedRoute>(
      `/files/:jobId/${form.variant}`,
      async (request, reply) => await live.sendLinked(request, reply, form),
    );
  app.get<PieceRoute>(
    "/files/:jobId/live/:attempt/:name",
    async (...call) => await live.sendPiece(...call),
  );
}

function nothingYet(endpoint: Endpoint, job: JobRecord, form: LiveForm): JobError {
  requireLive(endpoint, job, form);
  const message = `${job.id} is ${job.state}, and nothing of it can be played yet`;
  return new JobError(resourceCode(endpoint.object, "not_ready"), message, {
    retryAfterSeconds: POLL_SECONDS,
  });
}

type FindPieces = (jobId: string) => Promise<readonly Piece[]>;

/** Those that look at the same time share one listing. */
function createFindPieces(store: ArtifactStore): FindPieces {
  const find = groupCommit(async (ids: readonly string[]) => {
    const unique = [...new Set(ids)];
    const lists = await Promise.all(unique.map(async (id) => inOrder(await store.list(`${id}/`))));
    const found = new Map(unique.map((id, index) => [id, lists[index] ?? []]));
    return ids.map((id) => found.get(id) ?? []);
  }, MOST_TOGETHER);
  return find;
}

const PIECE = /\/(\d+)\/live\/((\d+)-(\d+)\.m4s)$/;

/**
 * What can be played in one go from the clip's beginning. A later attempt makes the same frames anew: what an
 * earlier one had stored is played from there, so that a list only ever grows.
 */
function inOrder(ids: readonly string[]): readonly Piece[] {
  const pieces = ids
    .flatMap((id) => {
      const [, attempt, name = "", startMs, endMs] = PIECE.exec(id) ?? [];
      return attempt === undefined
        ? []
        : [{ attempt: Number(attempt), name, startMs: Number(startMs), endMs: Number(endMs) }];
    })
    .toSorted((one, other) => other.attempt - one.attempt);
  const byStart = new Map(pieces.map((piece) => [piece.startMs, piece]));
  const chosen: Piece[] = [];
  for (let next = byStart.get(0); next !== undefined; next = byStart.get(next.endMs))
    chosen.push(next);
  return chosen;
}

interface Viewing extends LiveOptions {
  readonly findPieces: FindPieces;
}

interface Wait {
  readonly jobId: string;
  /** What is played already. */
  readonly fromMs: number;
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

interface Found {
  /** Undefined when the job was deleted. */
  readonly state: JobState | undefined;
  readonly pieces: readonly Piece[];
}

/** All pieces, as soon as one follows what is played, the job has ended or the time is up. */
async function awaitPieces(
  { look, findPieces, now }: Viewing,
  watch: ReturnType<JobNotifications["watch"]>,
  { jobId, fromMs, waitMs, signal }: Wait,
): Promise<Found> {
  const endMs = now() + waitMs;
  for (;;) {
    // In this order: what a job has stored before its end is found after it.
    const state = (await look(jobId))?.state;
    const pieces = state === "queued" ? [] : await findPieces(jobId);
    const leftMs = endMs - now();
    const isOver = state === undefined || isEndState(state) || leftMs <= 0 || signal.aborted;
    if (isOver || (pieces.at(-1)?.endMs ?? 0) > fromMs) return { state, pieces };
    await watch.next(Math.min(leftMs, untilPoll(now())), signal);
  }
}

/** The clip as one fragmented MP4. What cannot be played to its end is broken off, not ended. */
async function* playPieces(
  viewing: Viewing,
  jobId: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { store, notifications } = viewing;
  const watch = notifications.watch(jobId);
  let head: Buffer | undefined;
  let attempt = 0;
  let fromMs = 0;
  try {
    for (;;) {
      const wait = { jobId, fromMs, waitMs: KEEP_ALIVE_MS, signal };
      const { state, pieces } = await awaitPieces(viewing, watch, wait);
      signal.throwIfAborted();
      const next = pieces.filter(({ startMs }) => startMs >= fromMs);
      if (next.length === 0 && !isOpen(state)) return checkPlayed(state, pieces, fromMs);
      if (next.length === 0) yield FREE_BOX;
      for (const piece of next) {
        if (piece.attempt !== attempt) {
          const own = await readPiece(store, `${liveFolder(jobId, piece.attempt)}${LIVE_HEAD}`);
          if (head === undefined) yield own;
          else if (!head.equals(own)) throw brokenOff("it is encoded in another way now");
          head = own;
          ({ attempt } = piece);
        }
        yield await readPiece(store, `${liveFolder(jobId, attempt)}${piece.name}`);
        yield FREE_BOX;
        fromMs = piece.endMs;
      }
    }
  } finally {
    watch.close();
  }
}

function isOpen(state: JobState | undefined): boolean {
  return state !== undefined && !isEndState(state);
}

function checkPlayed(
  state: JobState | undefined,
  pieces: readonly Piece[],
  playedMs: number,
): void {
  if (state !== "completed") throw brokenOff(`the job is ${state ?? "deleted"}`);
  if (pieces.at(-1)?.endMs !== playedMs) throw brokenOff("its last pieces are not there");
}

function brokenOff(reason: string): JobError {
  return new JobError("service_unavailable", `the clip is not played on: ${reason}`);
}

async function readPiece(store: ArtifactStore, id: string): Promise<Buffer> {
  try {
    return Buffer.from(await store.readBytes(id));
  } catch (thrown) {
    if (toJobError(thrown).code === "not_found") throw unknownFile();
    throw thrown;
  }
}

/** RFC 8216: an EVENT list grows until EXT-X-ENDLIST. */
function renderList({ state, pieces }: Found, urlOf: (path: string) => string): string {
  const lines = pieces.flatMap(({ attempt, name, startMs, endMs }, index) => {
    const isOther = attempt !== pieces[index - 1]?.attempt;
    const head = isOther ? [`#EXT-X-MAP:URI="${urlOf(`${attempt}/${LIVE_HEAD}`)}"`] : [];
    return [
      ...(isOther && index > 0 ? ["#EXT-X-DISCONTINUITY"] : []),
      ...head,
      `#EXTINF:${((endMs - startMs) / 1_000).toFixed(3)},`,
      urlOf(`${attempt}/${name}`),
    ];
  });
  return [
    "#EXTM3U",
    "#EXT-X-VERSION:7",
    `#EXT-X-TARGETDURATION:${PIECE_SECONDS}`,
    "#EXT-X-MEDIA-SEQUENCE:0",
    "#EXT-X-PLAYLIST-TYPE:EVENT",
    "#EXT-X-INDEPENDENT-SEGMENTS",
    ...lines,
    ...(state === "completed" ? ["#EXT-X-ENDLIST"] : []),
    "",
  ].join("\n");
}
