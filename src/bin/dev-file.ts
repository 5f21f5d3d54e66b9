import { randomBytes } from "node:crypto";
import { chmod, link, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { makePrivateFolder } from "../storage/index.js";

const devFile = z.object({ baseUrl: z.string(), apiKey: z.string() });

/** A running front (its address includes `/v1`) and a key to it: what `up` leaves in its data folder. */
export type Endpoint = z.infer<typeof devFile>;

const ownerOnly = 0o600;
/** A busy front takes its time; one that has gone refuses at once. */
const ANSWER_MS = 15_000;

export async function writeDevFile(dataDir: string, content: Endpoint): Promise<void> {
  await writeSecret(devPath(dataDir), `${JSON.stringify(content, null, 2)}\n`);
}

/** What the last `up` on this folder wrote; its front may be gone. */
export async function readDevFile(dataDir: string): Promise<Endpoint | undefined> {
  const text = await readFile(devPath(dataDir), "utf8").catch(() => undefined);
  return text === undefined ? undefined : devFile.parse(JSON.parse(text));
}

/** The file's content when the front it names answers. */
export async function findRunningFront(dataDir: string): Promise<Endpoint | undefined> {
  const content = await readDevFile(dataDir);
  if (content === undefined) return undefined;
  const health = new URL("/healthz", content.baseUrl);
  const answer = await fetch(health, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(
    () => undefined,
  );
  return answer?.ok ? content : undefined;
}

/** The secret in a file, made where there is none: once, however many processes ask. */
export async function ensureSecret(path: string): Promise<string> {
  const known = await readFile(path, "utf8").catch(() => undefined);
  if (known !== undefined) return known;
  const own = `${path}.${process.pid}`;
  await writeSecret(own, randomBytes(32).toString("base64url"));
  try {
    // Unlike a rename it fails where another process was first.
    await link(own, path);
  } catch (thrown) {
    if (!isExisting(thrown)) throw thrown;
  } finally {
    await rm(own, { force: true });
  }
  return await readFile(path, "utf8");
}

function isExisting(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === "EEXIST";
}

/** Secrets in the data folder are for its owner's eyes only. */
async function writeSecret(path: string, text: string): Promise<void> {
  await makePrivateFolder(dirname(path), "DATA_DIR");
  await writeFile(path, text, { mode: ownerOnly });
  await chmod(path, ownerOnly);
}

function devPath(dataDir: string): string {
  return join(dataDir, "dev.json");
}
