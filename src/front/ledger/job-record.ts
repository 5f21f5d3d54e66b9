import type { Artifact } from "../../core/artifact.js";
import type { JobFailure, JobState } from "../../core/job.js";
import type { Prices, Units, Usage } from "../../core/usage.js";

/** One job as its project sees it, read in one statement. */
export interface JobRecord {
  readonly seq: number;
  readonly id: string;
  readonly modality: string;
  readonly model: string;
  readonly request: unknown;
  readonly state: JobState;
  readonly progress: number;
  readonly stage: string | null;
  readonly tier: string;
  readonly prices: Prices;
  readonly quoted_units: Units;
  readonly work: number;
  readonly amount_nano_usd: number;
  readonly failure: JobFailure | null;
  readonly artifacts: readonly Artifact[];
  readonly usage: Usage | null;
  readonly output: unknown;
  /** Read again after its answer: polled and stored jobs. */
  readonly kept: boolean;
  readonly created_at: Date;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
  readonly expires_at: Date | null;
  /** The download period is over, by the database's clock. */
  readonly expired: boolean;
  /** Seconds since the first attempt began. */
  readonly running_seconds: number | null;
  /** Queued jobs of the same model before this one, and their work. */
  readonly jobs_ahead: number | null;
  readonly work_ahead: number | null;
  /** Null where nothing was charged. */
  readonly charged_nano_usd: number | null;
}

/** What a caller who waited is answered from. */
export type AnsweredJob = Pick<
  JobRecord,
  "id" | "state" | "failure" | "artifacts" | "usage" | "output" | "ended_at" | "expired"
>;
