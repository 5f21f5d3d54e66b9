import type { Logger } from "pino";
import { JobError, reasonOf } from "../../core/errors.js";
import type { Chunk } from "../../core/events.js";
import type { Modality, Schema } from "../../core/modality.js";
import type { CompletionReport } from "../../core/reports.js";
import { findModalityOfJob } from "../../modalities/registry.js";
import type { ArtifactStore } from "../../storage/index.js";
import type { Database } from "../ledger/index.js";
import { readOutput } from "./job-output.js";

export interface SentReaderOptions {
  readonly database: Database;
  readonly store: ArtifactStore;
  readonly log: Logger;
}

/** Reads what workers send of a job as its modality says that it is; what is not is logged with its worker. */
export interface SentReader {
  /** Throws `invalid_value` where the output is not one of the job's modality. */
  readonly checkOutput: (report: CompletionReport) => Promise<void>;
  /** The pieces of an answer; throws `invalid_output` at one that is not of the modality. */
  readonly chunks: (
    jobId: string,
    modality: Modality,
    sent: AsyncIterable<Chunk>,
  ) => AsyncIterable<Chunk>;
}

export function createSentReader({ database, store, log }: SentReaderOptions): SentReader {
  const tryParse = async (schema: Schema<unknown>, value: unknown, jobId: string, what: string) => {
    try {
      return { value: schema.parse(value) };
    } catch (thrown) {
      const reason = reasonOf(thrown);
      const workerId = await findWorkerId(database, jobId);
      log.error({ jobId, workerId, reason }, `a worker sent ${what} that cannot be read`);
      return { reason };
    }
  };
  return {
    async checkOutput(report) {
      const { jobId, output, artifacts } = report;
      const schema = findModalityOfJob(jobId)?.schemas.output;
      if (schema === undefined) return;
      const whole = await readOutput(store, { output, artifacts, expired: false });
      const { reason } = await tryParse(schema, whole, jobId, "an output");
      if (reason === undefined) return;
      const message = `output: it is not what the modality says, got ${reason.slice(0, 400)}`;
      throw new JobError("invalid_value", message, { param: "output" });
    },
    async *chunks(jobId, { schemas }, sent) {
      for await (const chunk of sent) {
        if (chunk.type === "bytes" || schemas.delta === undefined) yield chunk;
        else {
          const read = await tryParse(schemas.delta, chunk.value, jobId, "a piece of an answer");
          if (read.reason !== undefined)
            throw new JobError("invalid_output", "a piece of the answer could not be read");
          yield { ...chunk, value: read.value };
        }
      }
    },
  };
}

/** Null where nobody holds the job, or the database does not answer. */
async function findWorkerId({ kysely }: Database, jobId: string): Promise<string | null> {
  const job = kysely.selectFrom("jobs").select("worker_id").where("id", "=", jobId);
  return await job.executeTakeFirst().then(
    (row) => row?.worker_id ?? null,
    () => null,
  );
}
