import { sql, type Kysely } from "kysely";
import type { JobRecord } from "./job-record.js";
import type { Tables } from "./tables.js";

/** How long jobs of a kind took: model and unit price tell the tiers apart. */
interface Pace {
  readonly model: string;
  readonly unit_micro_usd: number;
  /** Median of the latest runs, seconds of work a unit. */
  readonly seconds_per_unit: number;
}

interface Load {
  readonly model: string;
  /** Jobs being worked on now. */
  readonly running: number;
  /** Units of those jobs that are still to be made. */
  readonly units_left: number;
}

export interface Estimates {
  /** Brings the measurements up to date when they are older than a few seconds. */
  readonly refresh: () => Promise<void>;
  /** Seconds until the job's file is ready; null where nothing was measured. */
  readonly etaSeconds: (record: JobRecord) => number | null;
}

export interface EstimatesOptions {
  readonly kysely: Kysely<Tables>;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

const FRESH_MS = 3_000;
const SAMPLE = 100;

/** Estimates from measured runs only: null rather than a guess. */
export function createEstimates({ kysely, now }: EstimatesOptions): Estimates {
  let paces: readonly Pace[] = [];
  let loads: readonly Load[] = [];
  let readAtMs = -Infinity;
  let reading: Promise<void> | undefined;
  const read = async (): Promise<void> => {
    readAtMs = now();
    [paces, loads] = await Promise.all([readPaces(kysely), readLoads(kysely)]);
  };
  return {
    async refresh() {
      if (now() - readAtMs < FRESH_MS) return;
      reading ??= read().finally(() => (reading = undefined));
      await reading;
    },
    etaSeconds(record) {
      const pace = paces.find(
        ({ model, unit_micro_usd: price }) =>
          model === record.model && price === record.unit_micro_usd,
      );
      if (pace === undefined) return null;
      const load = loads.find(({ model }) => model === record.model);
      return record.state === "queued"
        ? queuedSeconds(record, pace.seconds_per_unit, load)
        : runningSeconds(record, pace.seconds_per_unit);
    },
  };
}

function queuedSeconds(
  { units, units_ahead: unitsAhead }: JobRecord,
  secondsPerUnit: number,
  load: Load | undefined,
): number | null {
  if (load === undefined || load.running === 0 || unitsAhead === null) return null;
  const waiting = ((unitsAhead + load.units_left) * secondsPerUnit) / load.running;
  return Math.ceil(waiting + units * secondsPerUnit);
}

/** Null once the job has outlived its estimate. */
function runningSeconds(record: JobRecord, secondsPerUnit: number): number | null {
  if (record.state !== "in_progress" || record.running_seconds === null) return null;
  const left = record.units * secondsPerUnit - record.running_seconds;
  return left > 0 ? Math.ceil(left) : null;
}

async function readPaces(kysely: Kysely<Tables>): Promise<Pace[]> {
  const { rows } = await sql<Pace>`
    SELECT model, unit_micro_usd,
      percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds / units) AS seconds_per_unit
    FROM (
      SELECT j.model, j.unit_micro_usd, j.units,
        extract(epoch FROM a.ended_at - a.started_at)::double precision AS seconds
      FROM attempts a JOIN jobs j ON j.id = a.job_id
      WHERE a.outcome = 'completed' AND j.units > 0
      ORDER BY a.ended_at DESC LIMIT ${SAMPLE}
    ) runs GROUP BY model, unit_micro_usd`.execute(kysely);
  return rows;
}

async function readLoads(kysely: Kysely<Tables>): Promise<Load[]> {
  const { rows } = await sql<Load>`
    SELECT model, count(*)::int AS running, sum(units * (100 - progress) / 100.0) AS units_left
    FROM jobs WHERE state = 'in_progress' AND lease_until > now() GROUP BY model`.execute(kysely);
  return rows;
}
