import type { Run } from "./run.js";

/** Runs of one endpoint, which this browser keeps for a day, as long as the service keeps files. */
const KEPT_MS = 24 * 3_600_000;
const DATABASE = "framemill-playground";
const STORE = "runs";

interface Entry {
  readonly id: string;
  /** Whose key made it: another one does not see it. */
  readonly owner: string;
  readonly path: string;
  readonly run: Run;
}

/** The runs of the last 24 hours, newest first; none where the browser stores nothing. */
export async function loadRuns(key: string, path: string): Promise<Run[]> {
  const store = await openStore("readwrite");
  if (store === undefined) return [];
  // Written by `saveRun` below, by whichever build: another shape gets another version of the database.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const entries = (await settled(store.getAll())) as Entry[];
  const isOld = ({ run }: Entry) => Date.now() - run.startedAtMs > KEPT_MS;
  for (const entry of entries.filter(isOld)) store.delete(entry.id);
  const owner = ownerOf(key);
  return entries
    .filter((entry) => entry.owner === owner && entry.path === path && !isOld(entry))
    .map(({ run }) => run)
    .toSorted((a, b) => b.startedAtMs - a.startedAtMs);
}

export async function saveRun(key: string, path: string, run: Run): Promise<void> {
  const store = await openStore("readwrite");
  if (store === undefined) return;
  const { notice: _notice, live: _live, ...kept } = run;
  const media = run.media === undefined ? {} : { media: withoutUrl(run.media) };
  const entry: Entry = { id: run.id, owner: ownerOf(key), path, run: { ...kept, ...media } };
  await settled(store.put(entry)).catch(() => undefined);
}

export async function forgetRuns(ids: readonly string[]): Promise<void> {
  const store = await openStore("readwrite");
  for (const id of ids) store?.delete(id);
}

/** A signed address does not last as long as its file. */
function withoutUrl({ url: _url, ...media }: NonNullable<Run["media"]>) {
  return media;
}

/** Tells keys apart and says nothing of them: 32 of the 256 bits that make one (FNV-1a). */
function ownerOf(key: string): string {
  let hash = 0x811c9dc5;
  for (const letter of key) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return (hash >>> 0).toString(16);
}

let opening: Promise<IDBDatabase | undefined> | undefined;

/** Undefined in windows that keep nothing. */
async function openStore(mode: IDBTransactionMode): Promise<IDBObjectStore | undefined> {
  opening ??= openDatabase().catch(() => undefined);
  const database = await opening;
  return database?.transaction(STORE, mode).objectStore(STORE);
}

async function openDatabase(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, 1);
  request.addEventListener("upgradeneeded", () =>
    request.result.createObjectStore(STORE, { keyPath: "id" }),
  );
  return await settled(request);
}

async function settled<T>(request: IDBRequest<T>): Promise<T> {
  return await new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error ?? new Error("not stored")));
  });
}
