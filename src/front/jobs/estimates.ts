import {
  type Db,
  sql,
  type JobRecord,
  type MeasuredPace,
  OPEN,
  readPaces,
} from "../ledger/index.js";
import { SERVICE_TIERS, type ServiceTier } from "../../core/service-tier.js";
import { cached } from "../../core/async/cached.js";
import { findPace, type OpenWork, type Outstanding, sumOutstanding } from "../../core/scaling.js";

interface OpenJobs extends OpenWork {
  readonly service_tier: ServiceTier;
}

interface Load {
  readonly model: string;
  /** Jobs being worked on now. */
  readonly running: number;
  /** Work of those jobs that is still to be done. */
  readonly work_left: number;
}

export interface EstimatesOptions {
  readonly db: Db;
  /** Jobs of a model that a worker runs at once; 1 by default. */
  readonly concurrencyOf?: (model: string) => number;
}

const FRESH_MS = 3_000;

export type Estimates = ReturnType<typeof createEstimates>;

/** Estimates from measured runs only: null rather than a guess. */
export function createEstimates({ db, concurrencyOf }: EstimatesOptions) {
  let paces: readonly MeasuredPace[] = [];
  let loads: readonly Load[] = [];
  /** Brings the measurements up to date when they are older than a few seconds. */
  const refresh = cached(FRESH_MS, async () => {
    [paces, loads] = await Promise.all([readPaces(db), readLoads(db)]);
  });
  const readOpen = async (): Promise<OpenJobs[]> => {
    await refresh();
    return await readOutstanding(db);
  };
  const sum = (kinds: readonly OpenWork[]) => sumOutstanding(kinds, paces, concurrencyOf);
  return {
    refresh,
    /**
     * Jobs of these models, or of all, that have not ended, and the seconds a worker will need for them.
     * Flex jobs have what workers there are, and ask for none.
     */
    outstanding: async (models: readonly string[]): Promise<Outstanding> => {
      const isAsked = ({ model, service_tier: tier }: OpenJobs) =>
        tier !== "flex" && (models.length === 0 || models.includes(model));
      return sum((await readOpen()).filter(isAsked));
    },
    /** The same of each service tier, of all models. */
    outstandingByTier: async (): Promise<readonly (readonly [ServiceTier, Outstanding])[]> => {
      const kinds = await readOpen();
      const ofTier = (tier: ServiceTier) => kinds.filter(({ service_tier: own }) => own === tier);
      return SERVICE_TIERS.map((tier) => [tier, sum(ofTier(tier))] as const);
    },
    /** The same of every model that has such jobs, each by itself, flex jobs included. */
    outstandingByModel: async (): Promise<ReadonlyMap<string, Outstanding>> => {
      const kinds = await readOpen();
      const models = new Set(kinds.map(({ model }) => model));
      const workOf = (id: string) => kinds.filter(({ model }) => model === id);
      return new Map([...models].map((id) => [id, sum(workOf(id))]));
    },
    /** Seconds until the job's file is ready; null where nothing was measured. */
    etaSeconds(record: JobRecord): number | null {
      const pace = findPace(paces, record);
      if (pace === undefined) return null;
      const load = loads.find(({ model }) => model === record.model);
      return record.state === "queued"
        ? queuedSeconds(record, pace.lasted_per_unit, load)
        : runningSeconds(record, pace.lasted_per_unit);
    },
  };
}

function queuedSeconds(
  { work, work_ahead: workAhead }: JobRecord,
  secondsPerUnit: number,
  load: Load | undefined,
): number | null {
  if (load === undefined || load.running === 0 || workAhead === null) return null;
  const waiting = ((workAhead + load.work_left) * secondsPerUnit) / load.running;
  return Math.ceil(waiting + work * secondsPerUnit);
}

/** Null once the job has outlived its estimate. */
function runningSeconds(record: JobRecord, secondsPerUnit: number): number | null {
  if (record.state !== "in_progress" || record.running_seconds === null) return null;
  const left = record.work * secondsPerUnit - record.running_seconds;
  return left > 0 ? Math.ceil(left) : null;
}

async function readOutstanding(db: Db): Promise<OpenJobs[]> {
  const { rows } = await sql<OpenJobs>`
    SELECT modality, model, tier, service_tier, count(*)::int AS jobs,
      sum(work * (100 - progress) / 100.0) AS work_left
    FROM jobs WHERE ${OPEN} GROUP BY modality, model, tier, service_tier`.execute(db);
  return rows;
}

async function readLoads(db: Db): Promise<Load[]> {
  const { rows } = await sql<Load>`
    SELECT model, count(*)::int AS running, sum(work * (100 - progress) / 100.0) AS work_left
    FROM jobs WHERE state = 'in_progress' AND lease_until > now() GROUP BY model`.execute(db);
  return rows;
}
