import { randomBytes } from "node:crypto";
import type { Logger } from "pino";
import { JobError } from "../../core/errors.js";
import type { DeadLetters } from "../../queue/index.js";
import {
  type ActionsQuery,
  type Actor,
  type AdminAction,
  type ApiKey,
  askErasure,
  cancelJob,
  type Database,
  type Erasure,
  findErasure,
  type FrontSummary,
  type Keys,
  listActions,
  listFronts,
  listWorkers,
  type Project,
  type ProjectLimits,
  recordAction,
  type RecordedAction,
  setDrain,
  type WorkerSummary,
} from "../ledger/index.js";
import { createEstimates } from "../jobs/index.js";
import {
  type InvoicesQuery,
  type MonthlyInvoices,
  readInvoices,
  summariseUsage,
  type UsageQuery,
  type UsageSummary,
} from "./usage.js";
import {
  getJobDetail,
  type JobDetail,
  type JobsQuery,
  type JobSummary,
  listJobSummaries,
  type RetriedJob,
  retryJob,
} from "./jobs.js";
import { createOverview, type Overview, type QueueSummary, summariseQueues } from "./overview.js";

export interface NewKey {
  readonly id: string;
  readonly key: string;
  readonly projectId: string;
}

/** What an operator may do, by command line or over the admin routes. */
export interface Operations {
  /** Newest first; a page that is shorter than its limit is the last. */
  readonly listJobs: (query: JobsQuery) => Promise<JobSummary[]>;
  readonly getJob: (id: string) => Promise<JobDetail>;
  /** Ends an open job of any project; false where it had ended. */
  readonly cancelJob: (id: string) => Promise<boolean>;
  /** A failed job's request as a job of its own. */
  readonly retryJob: (id: string) => Promise<RetriedJob>;
  /** Jobs of each model now, and within the last minutes. */
  readonly listQueues: () => Promise<QueueSummary[]>;
  readonly summariseUsage: (query: UsageQuery) => Promise<UsageSummary[]>;
  /** What projects owe for a month (UTC). */
  readonly readInvoices: (query: InvoicesQuery) => Promise<MonthlyInvoices>;
  /** Messages that the broker has put aside. */
  readonly deadLetters: DeadLetters;
  readonly listKeys: () => Promise<ApiKey[]>;
  /** Makes the project (by name) where there is none. */
  readonly createKey: (project: string, name: string) => Promise<NewKey>;
  readonly revokeKey: (keyId: string) => Promise<boolean>;
  readonly listProjects: () => Promise<Project[]>;
  /** Makes the project (by name) where there is none. */
  readonly setProject: (name: string, limits: Partial<ProjectLimits>) => Promise<Project>;
  /** The secret that signs the project's webhooks; `renew`: another than before. */
  readonly webhookSecret: (name: string, renew: boolean) => Promise<string>;
  /** Queues, throughput, waits, failures and money. */
  readonly readOverview: () => Promise<Overview>;
  /** What erasing a project (id or name) removes, or has still to remove. */
  readonly findErasure: (project: string) => Promise<Erasure>;
  /** Begins to erase a project: nothing of it comes back. Fronts go on with it. */
  readonly eraseProject: (projectId: string) => Promise<Erasure>;
  /** Changes by admin keys and at the command line, newest first. */
  readonly listActions: (query: ActionsQuery) => Promise<RecordedAction[]>;
  /** Those that announced themselves within the last hour. */
  readonly listFronts: () => Promise<FrontSummary[]>;
  /** Those that announced themselves within the last 15 s. */
  readonly listWorkers: () => Promise<WorkerSummary[]>;
  /** `drain`: it finishes its jobs and takes no more, until it is undrained. */
  readonly drainWorker: (workerId: string, drain: boolean) => Promise<void>;
}

/** Operations on the ledger itself. */
export interface LocalOperations extends Operations {
  /** The same as somebody does them: what they change is noted. */
  as(actor: Actor): Operations;
}

/** `deadLetters` of the broker, where there is one at hand. */
export function createOperations(
  db: Database,
  keys: Keys,
  deadLetters: DeadLetters = NO_DEAD_LETTERS,
  log?: Pick<Logger, "info">,
): LocalOperations {
  const ensureProject = async (name: string): Promise<Project> =>
    (await keys.listProjects()).find((known) => known.name === name) ??
    (await keys.createProject(name));
  const estimates = createEstimates({ db, now: () => performance.now() });
  const operations: Operations = {
    readOverview: createOverview(db, estimates),
    deadLetters,
    listJobs: (query) => listJobSummaries(db, query),
    getJob: (id) => getJobDetail(db, id),
    async cancelJob(id) {
      const { projectId } = await getJobDetail(db, id);
      return await cancelJob(db, id, projectId);
    },
    retryJob: (id) => retryJob(db, id, randomBytes),
    listQueues: () => summariseQueues(db),
    summariseUsage: (query) => summariseUsage(db, query),
    readInvoices: (query) => readInvoices(db, query),
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
    listFronts: () => listFronts(db),
    listWorkers: () => listWorkers(db),
    drainWorker: (workerId, drain) => setDrain(db, workerId, drain),
    findErasure: (project) => findErasure(db, project),
    eraseProject: (projectId) => askErasure(db, projectId),
    listActions: (query) => listActions(db, query),
  };
  return {
    ...operations,
    as: (actor) =>
      auditedOperations(operations, actor, async (action) => recordAction(db, action, log)),
  };
}

const refuse = async (): Promise<never> => {
  throw new JobError("service_unavailable", "no broker is at hand");
};
const NO_DEAD_LETTERS: DeadLetters = { list: refuse, replay: refuse, drop: refuse };

type Note = (action: AdminAction) => Promise<void>;

/** The same operations, of which those that change anything, or show a secret, are noted with their outcome. */
function auditedOperations(operations: Operations, actor: Actor, note: Note): Operations {
  const audited =
    <Rest extends readonly unknown[], Result>(
      action: string,
      run: (target: string, ...rest: Rest) => Promise<Result>,
      detailOf: (...rest: Rest) => AdminAction["detail"] = () => ({}),
    ) =>
    async (target: string, ...rest: Rest): Promise<Result> => {
      const { name, address } = actor;
      const base = { actor: name, address, action, target, detail: detailOf(...rest) };
      try {
        const result = await run(target, ...rest);
        await note({ ...base, outcome: result === false ? "unchanged" : "done" });
        return result;
      } catch (thrown) {
        const outcome = thrown instanceof JobError ? thrown.code : "server_error";
        await note({ ...base, outcome });
        throw thrown;
      }
    };
  const { deadLetters } = operations;
  return {
    ...operations,
    cancelJob: audited("jobs.cancel", operations.cancelJob),
    retryJob: audited("jobs.retry", operations.retryJob),
    deadLetters: {
      ...deadLetters,
      replay: audited("dead-letters.replay", (id) => deadLetters.replay(id)),
      drop: audited("dead-letters.drop", (id) => deadLetters.drop(id)),
    },
    createKey: audited("keys.create", operations.createKey, (name) => ({ name })),
    revokeKey: audited("keys.revoke", operations.revokeKey),
    setProject: audited("projects.set", operations.setProject, (limits) => ({ ...limits })),
    webhookSecret: audited("projects.webhook-secret", operations.webhookSecret, (renew) => ({
      renew,
    })),
    eraseProject: audited("projects.erase", operations.eraseProject),
    drainWorker: audited("workers.drain", operations.drainWorker, (drain) => ({ drain })),
  };
}
