import type { Logger } from "pino";
import { JobError, reasonOf } from "../../core/errors.js";
import type { Chunk } from "../../core/events.js";
import type { Schema } from "../../core/modality.js";
import type { CompletionReport, ProgressReport } from "../../core/reports.js";
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
  /** Throws `invalid_value` where the output is none of the job's modality. */
  readonly checkOutput: (report: CompletionReport) => Promise<void>;
  /** The report with the pieces of its answer parsed; undefined where one is none of the job's modality. */
  readonly readPieces: (report: ProgressReport) => Promise<ProgressReport | undefined>;
}

export function createSentReader({ database, store, log }: SentReaderOptions): SentReader {
  /** What keeps the value from being read; undefined where nothing does. */
  const parse = async <Result>(jobId: string, what: string, read: () => Result) => {
    try {
      return { value: read() };
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
      const { reason } = await parse(jobId, "an output", () => schema.parse(whole));
      if (reason === undefined) return;
      const message = `output: it is not what the modality says, got ${reason.slice(0, 400)}`;
      throw new JobError("invalid_value", message, { param: "output" });
    },
    async readPieces(report) {
      const { jobId, chunks } = report;
      if (chunks === undefined) return report;
      const schema = findModalityOfJob(jobId)?.schemas.delta;
      if (schema === undefined) return report;
      const read = () => chunks.map((chunk) => readPiece(chunk, schema));
      const { value } = await parse(jobId, "a piece of an answer", read);
      return value && { ...report, chunks: value };
    },
  };
}

function readPiece(chunk: Chunk, schema: Schema<unknown>): Chunk {
  return chunk.type === "bytes" ? chunk : { ...chunk, value: schema.parse(chunk.value) };
}

/** Null where nobody holds the job, or the database does not answer. */
async function findWorkerId({ kysely }: Database, jobId: string): Promise<string | null> {
  const job = kysely.selectFrom("jobs").select("worker_id").where("id", "=", jobId);
  return await job.executeTakeFirst().then(
    (row) => row?.worker_id ?? null,
    () => null,
  );
}
