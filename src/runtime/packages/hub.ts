import { createHash, type Hash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import pRetry, { AbortError } from "p-retry";
import { z } from "zod";

/** A model hub that speaks Hugging Face's addresses. */
export interface Hub {
  readonly baseUrl: string;
  /** Bearer token for private and gated repositories. */
  readonly token?: string;
}

export interface HubRepository {
  /** `owner/name`. */
  readonly name: string;
  /** Branch, tag or commit. */
  readonly revision: string;
}

export interface HubFile {
  readonly path: string;
  readonly byteLength?: number;
  /** Of the content; known of files in large-file storage. */
  readonly sha256?: string;
  /** Git's SHA-1 of the file as a blob; known of the others. */
  readonly blobSha1?: string;
}

export interface HubSnapshot {
  /** The commit that the revision names now. */
  readonly commit: string;
  readonly tags: readonly string[];
  readonly files: readonly HubFile[];
}

/** Reads `owner/name` or `owner/name@revision`; the revision is `main` where none is named. */
export function parseRepository(text: string): HubRepository {
  const [, name, revision = "main"] = /^((?:[\w.-]+\/)?[\w.-]+)(?:@([^\s@]+))?$/.exec(text) ?? [];
  if (name === undefined || name.split("/").some((part) => /^\.+$/.test(part)))
    throw new Error(`the repository must be owner/name or owner/name@revision, got ${text}`);
  return { name, revision };
}

const digits = (count: number) => z.string().regex(new RegExp(`^[0-9a-f]{${count}}$`));

const sibling = z.object({
  rfilename: z.string(),
  size: z.int().nonnegative().nullish(),
  blobId: digits(40).nullish(),
  lfs: z.object({ sha256: digits(64), size: z.int().nonnegative().nullish() }).nullish(),
});

const answer = z.object({
  sha: z.string().min(7),
  tags: z.array(z.string()).default([]),
  siblings: z.array(sibling),
});

/** What the repository holds, with lengths and hashes. Throws an error in plain words. */
export async function readSnapshot(
  hub: Hub,
  { name, revision }: HubRepository,
  signal: AbortSignal,
): Promise<HubSnapshot> {
  const address = `${trimmed(hub)}/api/models/${name}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const response = await fetch(address, { headers: authorization(hub), signal }).catch(
    (cause: unknown) => {
      throw new Error(`${hub.baseUrl} does not answer: ${reasonOf(cause)}`, { cause });
    },
  );
  if (!response.ok) throw new Error(refusal(response.status, `${name}@${revision}`, hub));
  const parsed = answer.safeParse(await response.json().catch(() => null));
  if (!parsed.success)
    throw new Error(`${address} does not answer as a model hub: ${z.prettifyError(parsed.error)}`);
  const { sha, tags, siblings } = parsed.data;
  return { commit: sha, tags, files: siblings.map(hubFile) };
}

function hubFile({ rfilename: path, size, blobId, lfs }: z.infer<typeof sibling>): HubFile {
  const byteLength = lfs?.size ?? size;
  return {
    path,
    ...(typeof byteLength === "number" && { byteLength }),
    // A file in large-file storage has the blob of its pointer.
    ...(lfs ? { sha256: lfs.sha256 } : blobId && { blobSha1: blobId }),
  };
}

/** Address of a file's bytes at a commit. */
export function fileAddress(
  hub: Hub,
  { name }: HubRepository,
  commit: string,
  path: string,
): string {
  const segments = path.split("/").map(encodeURIComponent).join("/");
  return `${trimmed(hub)}/${name}/resolve/${encodeURIComponent(commit)}/${segments}`;
}

function authorization({ token }: Hub): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** What an HTTP status of a hub means for the one who asked. */
function refusal(status: number, what: string, { baseUrl, token }: Hub): string {
  if (status === 401 || status === 403) {
    const mend = token === undefined ? "set HUB_TOKEN" : "HUB_TOKEN does not open it";
    return `${baseUrl} does not give ${what} to just anyone (HTTP ${status}): ${mend}`;
  }
  if (status === 404) return `${baseUrl} has no ${what}`;
  return `${baseUrl} answers ${what} with HTTP ${status}`;
}

/** The message, with the system's reason that fetch keeps in the cause. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.cause instanceof Error
    ? `${thrown.message} (${thrown.cause.message})`
    : thrown.message;
}

function trimmed({ baseUrl }: Hub): string {
  return baseUrl.replace(/\/+$/, "");
}

interface FileDownload {
  readonly hub: Hub;
  readonly address: string;
  /** Where the whole file goes; `<path>.part` is the beginning of one. */
  readonly path: string;
  readonly byteLength?: number;
  readonly sha256?: string;
  readonly blobSha1?: string;
  readonly signal: AbortSignal;
  /** Told how many bytes of the file are there. */
  readonly onBytes: (count: number) => void;
}

export interface Patience {
  /** Failed attempts in a row without a new byte. */
  readonly retries: number;
  readonly firstPauseMs: number;
  /** Silence after which an attempt is given up. */
  readonly stallMs: number;
}

export const PATIENCE: Patience = { retries: 6, firstPauseMs: 500, stallMs: 60_000 };
const LONGEST_PAUSE_MS = 30_000;

/**
 * Downloads a file, going on where an earlier attempt or an earlier run broke off, and checks its
 * length and hash. Throws an error that names the file.
 */
export async function downloadFile(
  file: FileDownload,
  patience: Patience = PATIENCE,
): Promise<void> {
  const whole = await sizeOf(file.path);
  if (whole !== undefined && (file.byteLength ?? whole) === whole) return file.onBytes(whole);
  await mkdir(dirname(file.path), { recursive: true });
  let best = (await sizeOf(partOf(file))) ?? 0;
  await pRetry(() => attempt(file, patience.stallMs), {
    retries: patience.retries,
    minTimeout: patience.firstPauseMs,
    maxTimeout: LONGEST_PAUSE_MS,
    randomize: true,
    signal: file.signal,
    // A line that breaks every gigabyte still gets there.
    async shouldConsumeRetry() {
      const now = (await sizeOf(partOf(file))) ?? 0;
      const grew = now > best;
      best = Math.max(best, now);
      return !grew;
    },
  });
}

function partOf({ path }: FileDownload): string {
  return `${path}.part`;
}

async function attempt(file: FileDownload, stallMs: number): Promise<void> {
  const part = partOf(file);
  const present = (await sizeOf(part)) ?? 0;
  const watch = watchFor(stallMs, file.signal);
  try {
    // A whole part is only to be checked: there is no byte to ask for.
    const isWhole = present > 0 && present === file.byteLength;
    const response = isWhole ? undefined : await request(file, present, watch.signal);
    const start = response?.status === 200 ? 0 : present;
    const digest = startDigest(file);
    if (start > 0) await pipeline(createReadStream(part), digest.hash, { end: false });
    if (response) await receive(response, { file, digest, watch, start });
    await settle(file, { digest, isFresh: start === 0 });
  } catch (thrown) {
    if (thrown instanceof AbortError || file.signal.aborted) throw thrown;
    const cause = watch.signal.aborted ? watch.signal.reason : thrown;
    throw new Error(`${file.address}: ${reasonOf(cause)}`, { cause: thrown });
  } finally {
    watch.stop();
  }
}

/** The whole file, or its rest from the byte `present` on. */
async function request(
  { hub, address, path }: FileDownload,
  present: number,
  signal: AbortSignal,
): Promise<Response> {
  const range = present > 0 ? { range: `bytes=${present}-` } : {};
  // Of a compressed answer the ranges would count other bytes.
  const headers = { ...authorization(hub), "accept-encoding": "identity", ...range };
  const response = await fetch(address, { headers, signal });
  const { status } = response;
  if (status === 200 || (status === 206 && startsAt(response, present))) return response;
  await response.body?.cancel();
  if (status !== 206 && status !== 416) throw refusalError(status, refusal(status, address, hub));
  await rm(`${path}.part`, { force: true });
  throw new Error(`the server does not go on at byte ${present}`);
}

/** Time outs, too many requests and faults of the server pass; the rest does not. */
function refusalError(status: number, sentence: string): Error {
  const passes = status === 408 || status === 429 || status >= 500;
  return passes ? new Error(sentence) : new AbortError(sentence);
}

function startsAt(response: Response, byte: number): boolean {
  return response.headers.get("content-range")?.startsWith(`bytes ${byte}-`) ?? false;
}

interface Receiving {
  readonly file: FileDownload;
  readonly digest: Digest;
  readonly watch: Watch;
  /** Bytes that are there already; the answer goes on behind them. */
  readonly start: number;
}

async function receive(
  response: Response,
  { file, digest, watch, start }: Receiving,
): Promise<void> {
  const part = createWriteStream(partOf(file), { flags: start > 0 ? "a" : "w" });
  let count = start;
  const counted = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      watch.alive();
      digest.hash.update(chunk);
      count += chunk.byteLength;
      file.onBytes(count);
      yield chunk;
    }
  };
  const body = response.body === null ? Readable.from([]) : Readable.from(response.body);
  await pipeline(body, counted, part, { signal: watch.signal });
}

interface Settling {
  readonly digest: Digest;
  /** Whether all bytes came with this attempt. */
  readonly isFresh: boolean;
}

/** Gives the file its name once it is whole and right. */
async function settle(file: FileDownload, { digest, isFresh }: Settling): Promise<void> {
  const size = (await sizeOf(partOf(file))) ?? 0;
  const { byteLength = size } = file;
  if (size < byteLength) throw new Error(`it broke off at byte ${size} of ${byteLength}`);
  const actual = digest.hash.digest("hex");
  const wrong =
    size > byteLength
      ? `must have ${byteLength} bytes, has ${size}`
      : digest.expected !== undefined && actual !== digest.expected
        ? `must hash to ${digest.expected}, hashes to ${actual}`
        : undefined;
  if (wrong === undefined) return rename(partOf(file), file.path);
  await rm(partOf(file), { force: true });
  const sentence = `${file.address} ${wrong}`;
  // An old beginning may belong to other bytes; what came in one piece will not get better.
  throw isFresh ? new AbortError(sentence) : new Error(wrong);
}

interface Digest {
  readonly hash: Hash;
  readonly expected: string | undefined;
}

/** SHA-256 where the hub says it, else git's SHA-1 of `blob <length>\0` and the content. */
function startDigest({ sha256, blobSha1, byteLength }: FileDownload): Digest {
  if (sha256 !== undefined || blobSha1 === undefined || byteLength === undefined)
    return { hash: createHash("sha256"), expected: sha256 };
  const hash = createHash("sha1").update(`blob ${byteLength}\0`);
  return { hash, expected: blobSha1 };
}

interface Watch {
  readonly signal: AbortSignal;
  alive(): void;
  stop(): void;
}

/** Aborts with the outer signal, or after a silence. */
function watchFor(stallMs: number, outer: AbortSignal): Watch {
  const stall = new AbortController();
  const give = () => stall.abort(new Error(`nothing came for ${stallMs} ms`));
  let timer = setTimeout(give, stallMs);
  return {
    signal: AbortSignal.any([outer, stall.signal]),
    alive() {
      clearTimeout(timer);
      timer = setTimeout(give, stallMs);
    },
    stop: () => clearTimeout(timer),
  };
}

async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size;
}
