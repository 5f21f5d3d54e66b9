import type { Logger } from "pino";
import { type Db, sql } from "./database/sql.js";
import { type JobKind, type Pace, PACE_SAMPLE } from "../../core/scaling.js";
import { messageOf } from "../../core/errors.js";
import { every } from "../../core/async/every.js";

/** A job that has completed. */
export interface CompletedRun extends JobKind {
  readonly work: number;
  /** Milliseconds that its last attempt computed. */
  readonly gpu_ms: number;
  /** From that attempt's start to its end; null where its start was not noted. */
  readonly lasted_seconds: number | null;
}

/** How long jobs of a kind took. */
export interface MeasuredPace extends Pace {
  /** Median from start to end, waiting for others included, seconds a unit of work. */
  readonly lasted_per_unit: number;
}

export interface PaceNotesOptions {
  readonly db: Db;
  /** Jobs of a model that a worker runs at once: they share its time. */
  readonly concurrencyOf: (model: string) => number;
  readonly log: Logger;
}

const WRITE_MS = 3_000;

interface KindNotes extends JobKind {
  /** Of a worker's time, a unit of work each, newest first. */
  readonly worker_seconds: readonly number[];
  readonly lasted_seconds: readonly number[];
}

/** Notes runs in memory and writes them down every few seconds, away from the jobs' own statements. */
export function createPaceNotes({ db, concurrencyOf, log }: PaceNotesOptions) {
  let noted = new Map<string, KindNotes>();
  const keep = (key: string, newer: KindNotes, older?: KindNotes) =>
    noted.set(key, {
      ...newer,
      worker_seconds: latest(newer.worker_seconds, older?.worker_seconds),
      lasted_seconds: latest(newer.lasted_seconds, older?.lasted_seconds),
    });
  const write = async (): Promise<void> => {
    const taken = noted;
    if (taken.size === 0) return;
    noted = new Map();
    try {
      await writeNotes(db, [...taken.values()]);
    } catch (error) {
      for (const [key, older] of taken) {
        const newer = noted.get(key);
        keep(key, newer ?? older, newer && older);
      }
      throw error;
    }
  };
  const onError = (error: unknown): void =>
    log.warn({ message: messageOf(error) }, "paces not written, trying again");
  const repeating = every({ intervalMs: WRITE_MS, run: write, onError });
  return {
    note: ({
      modality,
      model,
      tier,
      work,
      gpu_ms: gpuMs,
      lasted_seconds: lasted,
    }: CompletedRun) => {
      if (work <= 0 || lasted === null) return;
      const key = JSON.stringify([modality, model, tier]);
      const workerSeconds = gpuMs / 1_000 / concurrencyOf(model);
      const run = {
        modality,
        model,
        tier,
        worker_seconds: [workerSeconds / work],
        lasted_seconds: [lasted / work],
      };
      keep(key, run, noted.get(key));
    },
    /** Writes what is noted; a crash loses the notes of a few seconds. */
    close: async (): Promise<void> => {
      await repeating.stop();
      await write().catch(onError);
    },
  };
}

function latest(newer: readonly number[], older: readonly number[] = []): readonly number[] {
  return [...newer, ...older].slice(0, PACE_SAMPLE);
}

/** In one order, so that replicas that write at once wait for each other. */
async function writeNotes(db: Db, notes: readonly KindNotes[]): Promise<void> {
  await sql`
    INSERT INTO paces AS known (modality, model, tier, worker_seconds, lasted_seconds)
    SELECT * FROM jsonb_to_recordset(${JSON.stringify(notes)}::jsonb) AS noted (modality text,
      model text, tier text, worker_seconds double precision[], lasted_seconds double precision[])
    ORDER BY modality, model, tier
    ON CONFLICT (modality, model, tier) DO UPDATE SET
      worker_seconds = (excluded.worker_seconds || known.worker_seconds)[1:${sql.lit(PACE_SAMPLE)}],
      lasted_seconds = (excluded.lasted_seconds || known.lasted_seconds)[1:${sql.lit(PACE_SAMPLE)}]
  `.execute(db);
}

/** One row a kind, however many jobs there were. */
export async function readPaces(db: Db): Promise<MeasuredPace[]> {
  const median = (column: "worker_seconds" | "lasted_seconds") => sql`(SELECT
    percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) FROM unnest(${sql.ref(column)}) seconds)`;
  const { rows } = await sql<MeasuredPace>`
    SELECT modality, model, tier, ${median("worker_seconds")} AS seconds_per_unit,
      ${median("lasted_seconds")} AS lasted_per_unit FROM paces`.execute(db);
  return rows;
}
