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

/** What the repository holds, with lengths and hashes. Throws a sentence. */
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

export function authorization({ token }: Hub): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** What an HTTP status of a hub means for the one who asked. */
export function refusal(status: number, what: string, { baseUrl, token }: Hub): string {
  if (status === 401 || status === 403) {
    const mend = token === undefined ? "set HUB_TOKEN" : "HUB_TOKEN does not open it";
    return `${baseUrl} does not give ${what} to just anyone (HTTP ${status}): ${mend}`;
  }
  if (status === 404) return `${baseUrl} has no ${what}`;
  return `${baseUrl} answers ${what} with HTTP ${status}`;
}

/** The message, with the system's reason that fetch keeps in the cause. */
export function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.cause instanceof Error
    ? `${thrown.message} (${thrown.cause.message})`
    : thrown.message;
}

function trimmed({ baseUrl }: Hub): string {
  return baseUrl.replace(/\/+$/, "");
}
