import { randomBytes } from "node:crypto";
import type { Logger } from "pino";
import { JobError } from "../../core/errors.js";
import type { DeadLetters } from "../../queue/index.js";
import {
  type ActionsQuery,
  type Actor,
  type AdminAction,
  askErasure,
  cancelJob,
  type Database,
  findErasure,
  type Keys,
  listActions,
  listFronts,
  listWorkers,
  type Project,
  type ProjectLimits,
  recordAction,
  setDrain,
} from "../ledger/index.js";
import { createEstimates } from "../jobs/index.js";
import { readMargins } from "./margins.js";
import { type InvoicesQuery, readInvoices, summariseUsage, type UsageQuery } from "./usage.js";
import { getJobDetail, type JobsQuery, listJobSummaries, retryJob } from "./jobs.js";
import { createOverview, summariseQueues } from "./overview.js";

/** What an operator may do, by command line or over the admin routes. */
export type Operations = ReturnType<typeof operationsOn>;

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
  const operations = operationsOn(db, keys, deadLetters);
  return {
    ...operations,
    as: (actor) =>
      auditedOperations(operations, actor, async (action) => recordAction(db, action, log)),
  };
}

function operationsOn(db: Database, keys: Keys, deadLetters: DeadLetters) {
  /** The project of this name, made where there is none. */
  const ensureProject = async (name: string): Promise<Project> =>
    (await keys.listProjects()).find((known) => known.name === name) ??
    (await keys.createProject(name));
  return {
    /** Queues, throughput, waits, failures and money. */
    readOverview: createOverview(db, createEstimates({ db })),
    /** Messages that the broker has put aside. */
    deadLetters,
    /** Newest first; a page that is shorter than its limit is the last. */
    listJobs: (query: JobsQuery) => listJobSummaries(db, query),
    getJob: (id: string) => getJobDetail(db, id),
    /** Ends an open job of any project; false where it had ended. */
    cancelJob: async (id: string): Promise<boolean> => {
      const { projectId } = await getJobDetail(db, id);
      return await cancelJob(db, id, projectId);
    },
    /** A failed job's request as a job of its own. */
    retryJob: (id: string) => retryJob(db, id, randomBytes),
    /** Jobs of each model now, and within the last minutes. */
    listQueues: () => summariseQueues(db),
    summariseUsage: (query: UsageQuery) => summariseUsage(db, query),
    /** What was charged beside what the workers' time cost. */
    readMargins: (query: UsageQuery) => readMargins(db, query),
    /** What projects owe for a month (UTC). */
    readInvoices: (query: InvoicesQuery) => readInvoices(db, query),
    listKeys: () => keys.listKeys(),
    createKey: async (project: string, name: string) => {
      const { id: projectId } = await ensureProject(project);
      return { ...(await keys.createKey(projectId, name)), projectId };
    },
    revokeKey: (keyId: string) => keys.revokeKey(keyId),
    listProjects: () => keys.listProjects(),
    setProject: async (name: string, limits: Partial<ProjectLimits>): Promise<Project> =>
      await keys.setLimits((await ensureProject(name)).id, limits),
    /** The secret that signs the project's webhooks; `renew`: another than before. */
    webhookSecret: async (name: string, renew: boolean): Promise<string> =>
      await keys.webhookSecret((await ensureProject(name)).id, renew),
    listFronts: () => listFronts(db),
    listWorkers: () => listWorkers(db),
    /** `drain`: it finishes its jobs and takes no more, until it is undrained. */
    drainWorker: (workerId: string, drain: boolean) => setDrain(db, workerId, drain),
    /** What erasing a project (id or name) removes, or has still to remove. */
    findErasure: (project: string) => findErasure(db, project),
    /** Begins to erase a project: nothing of it comes back. Fronts go on with it. */
    eraseProject: (projectId: string) => askErasure(db, projectId),
    /** Changes by admin keys and at the command line, newest first. */
    listActions: (query: ActionsQuery) => listActions(db, query),
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
