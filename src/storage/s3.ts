import { Readable } from "node:stream";
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import type { Artifact } from "../core/artifact.js";
import { JobError } from "../core/errors.js";
import {
  type ArtifactPut,
  type ArtifactStore,
  type ByteRange,
  checkedId,
  checkedPrefix,
  createDigest,
  probeStore,
  readChunks,
  throwIfAborted,
} from "./artifact-store.js";

export interface S3StoreOptions {
  readonly bucket: string;
  /** Base URL of an S3-compatible service; unset = AWS. */
  readonly endpoint?: string;
  readonly region: string;
  /** Both or none; without them the SDK's own chain finds credentials (role, profile). */
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  /** Bytes of a multipart upload's part; at least 5 MiB, default 8 MiB. */
  readonly partBytes?: number;
  /** Artifacts a page of a listing; default and most 1000. */
  readonly pageSize?: number;
}

/** Most keys of one DeleteObjects request, and of a page of a listing. */
const BATCH = 1000;
const AWAY = "Files cannot be stored or read at the moment; try again.";
/** How long an aborted upload may take to remove its parts, in milliseconds. */
const ABORT_GRACE_MS = 5_000;

/** Artifacts as objects of a bucket: the id is the key. */
export function createS3Store(options: S3StoreOptions): ArtifactStore {
  const { endpoint, accessKeyId, secretAccessKey } = options;
  const client = new S3Client({
    region: options.region,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(accessKeyId !== undefined &&
      secretAccessKey !== undefined && { credentials: { accessKeyId, secretAccessKey } }),
    // CRC trailers are AWS-only; many S3-compatible services refuse them.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: { connectionTimeout: 3_000, socketTimeout: 30_000 },
  });
  return new S3Store(client, options);
}

class S3Store implements ArtifactStore {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #partBytes: number;
  readonly #pageSize: number;

  constructor(client: S3Client, options: S3StoreOptions) {
    this.#client = client;
    this.#bucket = options.bucket;
    this.#partBytes = options.partBytes ?? 8 * 1024 * 1024;
    this.#pageSize = options.pageSize ?? BATCH;
  }

  async putFile(put: ArtifactPut, path: string, signal?: AbortSignal): Promise<Artifact> {
    const digest = createDigest();
    let unreadable: Error | undefined;
    const chunks = noting(readChunks(path), (thrown) => (unreadable = thrown));
    const body = Readable.from(digest.pass(chunks));
    try {
      await this.#upload(put, body, signal);
      if (signal?.aborted === true) await this.#delete([put.id]);
      throwIfAborted(signal);
    } catch (problem) {
      throwIfAborted(signal);
      if (unreadable !== undefined) throw unreadable;
      throw storeError(problem, put.id);
    } finally {
      body.destroy();
    }
    return digest.describe(put);
  }

  async putBytes(put: ArtifactPut, bytes: Uint8Array): Promise<Artifact> {
    const digest = createDigest();
    digest.add(bytes);
    const command = new PutObjectCommand({ ...this.#target(put), Body: bytes });
    await answered(this.#client.send(command), put.id);
    return digest.describe(put);
  }

  async openRead(id: string, range?: ByteRange): Promise<Readable> {
    const command = new GetObjectCommand({
      Bucket: this.#bucket,
      Key: checkedId(id),
      ...(range && { Range: `bytes=${range.start}-${range.end}` }),
    });
    const { Body } = await answered(this.#client.send(command), id);
    if (!(Body instanceof Readable))
      throw new JobError("service_unavailable", AWAY, { cause: new Error(`${id}: no body`) });
    return Body;
  }

  async readBytes(id: string): Promise<Uint8Array> {
    const chunks: Buffer[] = [];
    for await (const chunk of await this.openRead(id)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  async findSize(id: string): Promise<number | undefined> {
    const command = new HeadObjectCommand({ Bucket: this.#bucket, Key: checkedId(id) });
    try {
      return (await answered(this.#client.send(command), id)).ContentLength;
    } catch (thrown) {
      if (thrown instanceof JobError && thrown.code === "not_found") return undefined;
      throw thrown;
    }
  }

  async removeAll(prefix: string): Promise<number> {
    const ids = await this.list(checkedPrefix(prefix));
    for (let first = 0; first < ids.length; first += BATCH)
      await this.#delete(ids.slice(first, first + BATCH));
    return ids.length;
  }

  async list(prefix: string): Promise<readonly string[]> {
    const ids: string[] = [];
    const query = {
      Bucket: this.#bucket,
      Prefix: prefix === "" ? "" : checkedPrefix(prefix),
      MaxKeys: this.#pageSize,
    };
    let token: string | undefined;
    do {
      const command = new ListObjectsV2Command({
        ...query,
        ...(token && { ContinuationToken: token }),
      });
      const page = await answered(this.#client.send(command), prefix);
      for (const { Key } of page.Contents ?? []) if (Key !== undefined) ids.push(Key);
      token = page.NextContinuationToken;
    } while (token !== undefined);
    return ids;
  }

  async probe(): Promise<void> {
    await probeStore(this, `bucket ${this.#bucket}`);
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }

  /** An abort ends the body, upon which the SDK removes the parts; it is waited for a short while. */
  async #upload(put: ArtifactPut, body: Readable, signal: AbortSignal | undefined): Promise<void> {
    const params = { ...this.#target(put), Body: body };
    throwIfAborted(signal);
    const upload = new Upload({
      client: this.#client,
      params,
      partSize: this.#partBytes,
      queueSize: 2,
    });
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      body.destroy(new Error("upload was cancelled"));
      timer = setTimeout(() => void upload.abort(), ABORT_GRACE_MS);
    };
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await upload.done();
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    }
  }

  async #delete(ids: readonly string[]): Promise<void> {
    const Objects = ids.map((Key) => ({ Key }));
    const command = new DeleteObjectsCommand({
      Bucket: this.#bucket,
      Delete: { Objects, Quiet: true },
    });
    const { Errors = [] } = await answered(this.#client.send(command), ids[0] ?? "");
    const [first] = Errors;
    if (first === undefined) return;
    const cause = new Error(`${Errors.length} were not removed: ${first.Key} ${first.Message}`);
    throw new JobError("service_unavailable", AWAY, { cause });
  }

  #target({ id, mediaType }: ArtifactPut): { Bucket: string; Key: string; ContentType: string } {
    return { Bucket: this.#bucket, Key: checkedId(id), ContentType: mediaType };
  }
}

/** The same chunks; `note` is called with the error that ends them. */
async function* noting(
  chunks: AsyncIterable<Buffer>,
  note: (thrown: Error) => void,
): AsyncGenerator<Buffer> {
  try {
    yield* chunks;
  } catch (thrown) {
    if (thrown instanceof Error) note(thrown);
    throw thrown;
  }
}

/** What the service answers; throws one of our errors where it refuses or is away. */
async function answered<T>(answer: Promise<T>, id: string): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw storeError(cause, id);
  }
}

/** What the service said, as one of our codes: missing, out of range, or not to be reached now. */
function storeError(cause: unknown, id: string): JobError {
  if (cause instanceof JobError) return cause;
  const name = cause instanceof Error ? cause.name : "";
  if (name === "NoSuchKey" || name === "NotFound")
    return new JobError("not_found", `there is no artifact ${id}`, { cause });
  if (name === "InvalidRange")
    return new JobError("range_not_satisfiable", `artifact ${id} has no such bytes`, { cause });
  // Callers read this; the cause, which names hosts and keys, is for the log.
  return new JobError("service_unavailable", AWAY, { cause });
}
