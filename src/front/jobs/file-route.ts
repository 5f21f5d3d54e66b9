import type { FastifyInstance } from "fastify";
import { sql } from "kysely";
import { JobError } from "../../core/errors.js";
import type { ArtifactStore } from "../../storage/index.js";
import { sendArtifact } from "./content.js";
import type { Database } from "../ledger/index.js";
import type { FileLinks } from "../http/index.js";

interface FileRequest {
  Params: { readonly jobId: string; readonly variant: string };
  Querystring: { readonly expires?: unknown; readonly signature?: unknown };
}

export interface FileRouteOptions {
  readonly database: Database;
  readonly store: ArtifactStore;
  readonly links: FileLinks;
}

/** Downloads by a signed link, without a key: what `url` in an answer names. */
export function addFileRoute(app: FastifyInstance, options: FileRouteOptions): void {
  const { database, store, links } = options;
  app.get<FileRequest>("/files/:jobId/:variant", async (request, reply) => {
    const { jobId, variant } = request.params;
    const expires = Number(request.query.expires);
    const { signature } = request.query;
    if (typeof signature !== "string") throw unknownFile();
    if (!links.isValid({ jobId, variant, expires, signature })) throw unknownFile();
    const job = await database.kysely
      .selectFrom("jobs")
      .select(["artifacts", "files_removed"])
      .where("id", "=", jobId)
      .where("deleted_at", "is", null)
      .where(sql<boolean>`expires_at > now()`)
      .executeTakeFirst();
    const artifact = job?.artifacts.find((candidate) => candidate.variant === variant);
    if (artifact === undefined || job?.files_removed === true) throw unknownFile();
    return await sendArtifact(store, request, reply, { artifact, name: `${jobId}-${variant}` });
  });
}

function unknownFile(): JobError {
  return new JobError("not_found", "the link is not valid, or not any more");
}
