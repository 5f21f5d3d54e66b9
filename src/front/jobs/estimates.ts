import { type Db, sql, type JobRecord, type MeasuredPace, readPaces } from "../ledger/index.js";
import { findPace, type OpenWork, type Outstanding, sumOutstanding } from "../../core/scaling.js";

interface Load {
  readonly model: string;
  /** Jobs being worked on now. */
  readonly running: number;
  /** Work of those jobs that is still to be done. */
  readonly work_left: number;
}

export interface Estimates {
  /** Brings the measurements up to date when they are older than a few seconds. */
  readonly refresh: () => Promise<void>;
  /** Seconds until the job's file is ready; null where nothing was measured. */
  readonly etaSeconds: (record: JobRecord) => number | null;
  /** Jobs of these models, or of all, that have not ended, and the seconds a worker will need for them. */
  readonly outstanding: (models: readonly string[]) => Promise<Outstanding>;
  /** The same of every model that has such jobs, each by itself. */
  readonly outstandingByModel: () => Promise<ReadonlyMap<string, Outstanding>>;
}

export interface EstimatesOptions {
  readonly db: Db;
  /** Jobs of a model that a worker runs at once; 1 by default. */
  readonly concurrencyOf?: (model: string) => number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

const FRESH_MS = 3_000;

/** Estimates from measured runs only: null rather than a guess. */
export function createEstimates({ db, concurrencyOf, now }: EstimatesOptions): Estimates {
  let paces: readonly MeasuredPace[] = [];
  let loads: readonly Load[] = [];
  let readAtMs = -Infinity;
  let reading: Promise<void> | undefined;
  const read = async (): Promise<void> => {
    readAtMs = now();
    [paces, loads] = await Promise.all([readPaces(db), readLoads(db)]);
  };
  const refresh = async (): Promise<void> => {
    if (now() - readAtMs < FRESH_MS) return;
    reading ??= read().finally(() => (reading = undefined));
    await reading;
  };
  return {
    refresh,
    async outstanding(models) {
      await refresh();
      return sumOutstanding(await readOutstanding(db, models), paces, concurrencyOf);
    },
    async outstandingByModel() {
      await refresh();
      const kinds = await readOutstanding(db, []);
      const models = new Set(kinds.map(({ model }) => model));
      const workOf = (id: string) => kinds.filter(({ model }) => model === id);
      return new Map(
        [...models].map((id) => [id, sumOutstanding(workOf(id), paces, concurrencyOf)]),
      );
    },
    etaSeconds(record) {
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

async function readOutstanding(db: Db, models: readonly string[]): Promise<OpenWork[]> {
  const isAsked = models.length === 0 ? sql`true` : sql`model IN (${sql.join(models)})`;
  const { rows } = await sql<OpenWork>`
    SELECT modality, model, tier, count(*)::int AS jobs,
      sum(work * (100 - progress) / 100.0) AS work_left
    FROM jobs WHERE state IN ('queued', 'in_progress') AND ${isAsked}
    GROUP BY modality, model, tier`.execute(db);
  return rows;
}

async function readLoads(db: Db): Promise<Load[]> {
  const { rows } = await sql<Load>`
    SELECT model, count(*)::int AS running, sum(work * (100 - progress) / 100.0) AS work_left
    FROM jobs WHERE state = 'in_progress' AND lease_until > now() GROUP BY model`.execute(db);
  return rows;
}
