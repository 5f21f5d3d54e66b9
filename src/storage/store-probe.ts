import { randomUUID } from "node:crypto";
import { JobError, reasonOf } from "../core/errors.js";
import type { ArtifactStore } from "./artifact-store.js";

/** Writes, reads and removes a small artifact; throws `service_unavailable` with what went wrong. */
export async function probeStore(store: ArtifactStore, where: string): Promise<void> {
  const folder = `probe/${randomUUID()}/`;
  const written = Buffer.from(folder);
  try {
    const id = `${folder}content.txt`;
    await store.putBytes({ id, variant: "content", mediaType: "text/plain" }, written);
    const read = await store.readBytes(id);
    if (!written.equals(read))
      throw new Error(`wrote ${written.byteLength} bytes, read ${read.byteLength} others`);
    await store.removeAll(folder);
  } catch (cause) {
    const message = `artifact store ${where} cannot be used: ${reasonOf(cause)}`;
    throw new JobError("service_unavailable", message, { cause });
  }
}
