import type { ColumnType, Generated } from "kysely";
import type { Artifact } from "../../../core/artifact.js";
import type { JobFailure, JobState } from "../../../core/job.js";
import type { Prices, Units, Usage } from "../../../core/usage.js";

/** Read as parsed JSON, written as JSON text. */
type Json<T> = ColumnType<T, string, string>;
/** Written by the database's own clock only. */
type Timestamp = ColumnType<Date, never, never>;
type OptionalTimestamp = ColumnType<Date | null, never, never>;

export interface ProjectsTable {
  id: string;
  name: string;
  requests_per_minute: number;
  tokens_per_minute: number;
  /** Micro-dollars a calendar month (UTC); null = no limit. */
  monthly_limit_micro_usd: number | null;
  /** Share of the workers beside other projects' when all have jobs waiting. */
  weight: Generated<number>;
  /** `whsec_…`, which signs webhooks; null until an operator makes one. */
  webhook_secret: string | null;
  created_at: Timestamp;
  /** From then on its jobs are removed by the janitor. */
  erasure_asked_at: OptionalTimestamp;
  /** Nothing is left of it but its charges. */
  erased_at: OptionalTimestamp;
}

export interface ApiKeysTable {
  id: string;
  project_id: string;
  name: string;
  /** Lower-case hexadecimal SHA-256 of the key; the key itself is never stored. */
  sha256: string;
  created_at: Timestamp;
  revoked_at: OptionalTimestamp;
}

export interface JobsTable {
  /** Order of acceptance; lists and queue positions follow it. */
  seq: Generated<number>;
  id: string;
  project_id: string;
  api_key_id: string;
  modality: string;
  model: string;
  request: Json<unknown>;
  /** The request as a file, where it is too long for a message. */
  request_file: Json<Artifact | null>;
  /** gRPC address of the replica whose caller waits for the answer; null for polled jobs. */
  report_to: string | null;
  /** Read again after its answer: polled and stored jobs. */
  kept: Generated<boolean>;
  state: Generated<JobState>;
  /** Fencing token: grows with every claim. */
  token: Generated<number>;
  attempts: Generated<number>;
  crashes: Generated<number>;
  preemptions: Generated<number>;
  /** Leases that ended without a report. */
  lapses: Generated<number>;
  /** Null while nobody holds the job. */
  lease_until: OptionalTimestamp;
  worker_id: string | null;
  progress: Generated<number>;
  stage: string | null;
  prices: Json<Prices>;
  /** Units the job may use at most. */
  quoted_units: Json<Units>;
  /** Row of the price table within the modality; empty where it has but one. */
  tier: string;
  /** Size of the job in its own main unit: what its time is estimated from. */
  work: number;
  /** Whose turn it is among the projects: assigned at creation, corrected when the job is first claimed. */
  turn: Generated<number>;
  /** Null while the job waits in the ledger for its turn to go to the queue. */
  released_at: OptionalTimestamp;
  /** Quoted amount, rounded: what a front of before reads. */
  amount_micro_usd: number;
  /** Quoted amount; counts as reserved spending while the job is open. Null in rows of a front of before. */
  amount_nano_usd: number | null;
  idempotency_key: string | null;
  body_hash: string;
  traceparent: string | null;
  artifacts: ColumnType<readonly Artifact[], string | undefined, string>;
  checkpoint: Json<Artifact | null>;
  output: Json<unknown>;
  usage: Json<Usage | null>;
  failure: Json<JobFailure | null>;
  created_at: Timestamp;
  started_at: OptionalTimestamp;
  ended_at: OptionalTimestamp;
  /** End of the download period. */
  expires_at: OptionalTimestamp;
  /** The job must not start after this. */
  deadline_at: Timestamp;
  /** The janitor publishes an unleased job again after this. */
  republish_after: Timestamp;
  /** Whom to tell that the job has ended, when next, and how often that was tried. */
  webhook_url: string | null;
  webhook_at: OptionalTimestamp;
  webhook_attempts: Generated<number>;
  files_removed: Generated<boolean>;
  /** Whether attempts before the one that completed may have left files. */
  has_leftovers: Generated<boolean>;
  deleted_at: OptionalTimestamp;
}

/** Jobs accepted but not yet confirmed by the broker. */
export interface OutboxTable {
  job_id: string;
  /** A replica is publishing the row until then. */
  locked_until: Timestamp;
  created_at: Timestamp;
}

type UnitColumn =
  | "input_tokens"
  | "output_tokens"
  | "images"
  | "audio_seconds"
  | "video_seconds"
  | "characters"
  | "searches";

/** The primary key makes a second charge for a job impossible. */
export interface ChargesTable {
  job_id: string;
  project_id: string;
  /** Null in rows of before these were noted. */
  modality: string | null;
  model: string | null;
  prices: Json<Prices>;
  counted_units: Json<Units>;
  /** Rounded: what a front of before reads. */
  amount_micro_usd: number;
  /** Null in rows of a front of before, as are the next two. */
  amount_nano_usd: number | null;
  api_key_id: string | null;
  tier: string | null;
  gpu_ms: number;
  created_at: Timestamp;
}

/** Sums of charges by the hour (UTC) in which they were made; an empty word stands for what was not noted. */
export interface UsageHoursTable extends Record<UnitColumn, number> {
  project_id: string;
  hour: Timestamp;
  api_key_id: string;
  modality: string;
  model: string;
  tier: string;
  jobs: number;
  amount_nano_usd: number;
  gpu_ms: number;
}

/** The same by the day (UTC). */
export interface UsageDaysTable extends Omit<UsageHoursTable, "hour"> {
  day: Timestamp;
}

/** How far charges are summed: one row. */
export interface UsageRollupTable {
  is_only: Generated<boolean>;
  /** Charges made before it are in `usage_hours` and `usage_days`, those since are not. */
  rolled_until: Timestamp;
  /** Sums of the charges before it. */
  charges: Generated<number>;
  amount_nano_usd: Generated<number>;
}

/** Internal GPU time of every attempt, charged or not. */
export interface AttemptsTable {
  job_id: string;
  token: number;
  worker_id: string;
  outcome: string | null;
  gpu_ms: number;
  started_at: Timestamp;
  ended_at: OptionalTimestamp;
}

/** How long the latest jobs of each kind took, seconds a unit of work, newest first. */
export interface PacesTable {
  modality: string;
  model: string;
  tier: string;
  /** Of a worker's time, which the jobs that it runs at once share. */
  worker_seconds: readonly number[];
  /** From start to end. */
  lasted_seconds: readonly number[];
}

/** What was done by the admin routes and the command line. */
export interface AdminActionsTable {
  id: Generated<number>;
  at: Timestamp;
  actor: string;
  address: string | null;
  action: string;
  target: string | null;
  detail: Json<Readonly<Record<string, unknown>>>;
  outcome: string;
}

export interface RateLimitsTable {
  key: string;
  points: number;
  /** Unix time in milliseconds. */
  expire: number | null;
}

/** Keys that replicas share, made by whichever starts first. */
export interface SecretsTable {
  name: string;
  value: Uint8Array;
  created_at: Timestamp;
}

/** Replicas that announce themselves. */
export interface FrontsTable {
  id: string;
  grpc_address: string;
  seen_at: Timestamp;
}

export interface Tables {
  projects: ProjectsTable;
  api_keys: ApiKeysTable;
  jobs: JobsTable;
  outbox: OutboxTable;
  charges: ChargesTable;
  usage_hours: UsageHoursTable;
  usage_days: UsageDaysTable;
  usage_rollup: UsageRollupTable;
  attempts: AttemptsTable;
  paces: PacesTable;
  rate_limits: RateLimitsTable;
  admin_actions: AdminActionsTable;
  secrets: SecretsTable;
  fronts: FrontsTable;
}
