import { sql } from "kysely";
import type { JobState } from "../core/job.js";
import type { Prices, Units } from "../core/usage.js";
import type { Database } from "./database.js";
import type { ApiKey, Keys, Project, ProjectLimits } from "./keys.js";
import { listWorkers, setDrain, type WorkerSummary } from "./workers.js";

/** A job as its operator sees it: no prompt, but attempts and money. */
export interface JobSummary {
  readonly id: string;
  readonly projectId: string;
  readonly modality: string;
  readonly model: string;
  readonly state: JobState;
  readonly progress: number;
  readonly attempts: number;
  readonly crashes: number;
  readonly preemptions: number;
  readonly workerId: string | null;
  readonly prices: Prices;
  /** Units it may use at most; those it used once it has completed. */
  readonly units: Units;
  readonly quotedMicroUsd: number;
  /** Null until the job has ended; 0 when it failed. */
  readonly chargedMicroUsd: number | null;
  /** Wall time of all attempts. */
  readonly gpuMs: number;
  readonly failureCode: string | null;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
}

export interface NewKey {
  readonly id: string;
  readonly key: string;
  readonly projectId: string;
}

/** What an operator may do, by command line or over the admin routes. */
export interface Operations {
  /** Newest first. */
  listJobs(limit: number): Promise<JobSummary[]>;
  listKeys(): Promise<ApiKey[]>;
  /** Makes the project (by name) where there is none. */
  createKey(project: string, name: string): Promise<NewKey>;
  revokeKey(keyId: string): Promise<boolean>;
  listProjects(): Promise<Project[]>;
  /** Makes the project (by name) where there is none. */
  setProject(name: string, limits: Partial<ProjectLimits>): Promise<Project>;
  /** The secret that signs the project's webhooks; `renew`: another than before. */
  webhookSecret(name: string, renew: boolean): Promise<string>;
  /** Those that were heard of within the last 15 s. */
  listWorkers(): Promise<WorkerSummary[]>;
  /** `drain`: it finishes its jobs and takes no more, until it is told otherwise. */
  drainWorker(workerId: string, drain: boolean): Promise<void>;
}

export function createOperations({ kysely }: Database, keys: Keys): Operations {
  const ensureProject = async (name: string): Promise<Project> =>
    (await keys.listProjects()).find((known) => known.name === name) ??
    (await keys.createProject(name));
  return {
    async listJobs(limit) {
      const rows = await kysely
        .selectFrom("jobs")
        .leftJoin("charges", "charges.job_id", "jobs.id")
        .selectAll("jobs")
        .select(["charges.amount_micro_usd as charged", "charges.counted_units as counted"])
        .select(
          sql<number>`(SELECT coalesce(sum(gpu_ms), 0)::bigint FROM attempts
          WHERE attempts.job_id = jobs.id)`.as("total_gpu_ms"),
        )
        .where("jobs.deleted_at", "is", null)
        .orderBy("jobs.seq", "desc")
        .limit(limit)
        .execute();
      return rows.map((row) => ({
        id: row.id,
        projectId: row.project_id,
        modality: row.modality,
        model: row.model,
        state: row.state,
        progress: row.progress,
        attempts: row.attempts,
        crashes: row.crashes,
        preemptions: row.preemptions,
        workerId: row.worker_id,
        prices: row.prices,
        units: row.counted ?? row.quoted_units,
        quotedMicroUsd: row.amount_micro_usd,
        chargedMicroUsd: row.charged ?? (row.ended_at === null ? null : 0),
        gpuMs: row.total_gpu_ms,
        failureCode: row.failure?.code ?? null,
        createdAt: row.created_at.toISOString(),
        startedAt: row.started_at?.toISOString() ?? null,
        endedAt: row.ended_at?.toISOString() ?? null,
      }));
    },
    listKeys: () => keys.listKeys(),
    async createKey(project, name) {
      const { id: projectId } = await ensureProject(project);
      return { ...(await keys.createKey(projectId, name)), projectId };
    },
    revokeKey: (keyId) => keys.revokeKey(keyId),
    listProjects: () => keys.listProjects(),
    setProject: async (name, limits) =>
      await keys.setLimits((await ensureProject(name)).id, limits),
    webhookSecret: async (name, renew) =>
      await keys.webhookSecret((await ensureProject(name)).id, renew),
    listWorkers: () => listWorkers(kysely),
    drainWorker: (workerId, drain) => setDrain(kysely, workerId, drain),
  };
}
