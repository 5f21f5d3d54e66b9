import type { ArtifactStore } from "../../storage/index.js";
import { JobError } from "../../core/errors.js";
import type { Artifact } from "../../core/artifact.js";
import type { JobRecord } from "../ledger/index.js";

/**
 * What the pipeline said of a completed job, from the ledger or, where it was too long, its file;
 * undefined when the file has expired.
 */
export async function readOutput(
  store: ArtifactStore,
  { output, artifacts, expired }: Pick<JobRecord, "output" | "artifacts" | "expired">,
): Promise<unknown> {
  const file = artifacts.find(({ variant }) => variant === "output");
  if (file === undefined) return output;
  if (expired) return undefined;
  return JSON.parse(new TextDecoder().decode(await store.readBytes(file.id)));
}

/** A file of a completed job. */
export function getArtifact(
  { id, artifacts }: Pick<JobRecord, "id" | "artifacts">,
  variant: string,
): Artifact {
  const artifact = artifacts.find((candidate) => candidate.variant === variant);
  if (artifact !== undefined) return artifact;
  throw new JobError("not_found", `${id} has no ${variant}`, { param: "variant" });
}
