import type { Kysely } from "kysely";
import type { Artifact } from "../../core/artifact.js";
import type { Lease } from "../../core/job.js";
import type { Units } from "../../core/usage.js";
import type { Tables } from "./database/tables.js";
import { LEASE_MS, MOST_LAPSES } from "./jobs.js";
import { readStatement } from "./statements.js";

/** Who asks for which job. */
export interface Claimer {
  readonly jobId: string;
  readonly workerId: string;
}

export interface Claim extends Omit<Lease, "jobId" | "leaseMs"> {
  readonly checkpoint: Artifact | null;
  /** Units the job may use at most. */
  readonly quotedUnits: Units;
  /** gRPC address of the front that has the caller; null where what was made lies in a file. */
  readonly reportTo: string | null;
}

/** What an asked-for job led to. */
export interface ClaimAnswer {
  /** Undefined when the job has ended, is unknown, is held by another, or gives way. */
  readonly claim: Claim | undefined;
  /** Whether other jobs of the model wait in the ledger for their turn, or one has just been let go. */
  readonly othersWait: boolean;
}

type ClaimRow = Nullable<Claim> & { readonly id: string; readonly othersWait: boolean };

interface Limits {
  readonly leaseMs: number;
  readonly mostLapses: number;
}

const LIMITS: Limits = { leaseMs: LEASE_MS, mostLapses: MOST_LAPSES };
const claimTogether = readStatement<
  Limits & { readonly jobIds: readonly string[]; readonly workerIds: readonly string[] },
  ClaimRow
>("claim");
const claimInTurn = readStatement<Limits & Claimer, ClaimRow>("claim-in-turn");

/**
 * Takes the leases of jobs, of each for one claimer at most, except where it is another project's turn:
 * then the job goes back to wait in the ledger and the other one to the queue.
 */
export async function claimJobs(
  db: Kysely<Tables>,
  claimers: readonly Claimer[],
): Promise<ClaimAnswer[]> {
  const firsts = new Map(claimers.toReversed().map((claimer) => [claimer.jobId, claimer]));
  const jobIds = [...firsts.keys()];
  const workerIds = [...firsts.values()].map(({ workerId }) => workerId);
  const rows = await claimTogether(db, { ...LIMITS, jobIds, workerIds });
  const answers = new Map(rows.map((row) => [row.id, toAnswer(row)]));
  return await Promise.all(
    claimers.map(async (claimer) => {
      const isFirst = firsts.get(claimer.jobId) === claimer;
      const answer = isFirst ? answers.get(claimer.jobId) : undefined;
      if (answer?.claim !== undefined) return answer;
      const [row] = await claimInTurn(db, { ...LIMITS, ...claimer });
      return row === undefined ? { claim: undefined, othersWait: false } : toAnswer(row);
    }),
  );
}

function toAnswer(row: ClaimRow): ClaimAnswer {
  const { token, attempt, prices, quotedUnits, reportTo, checkpoint, othersWait } = row;
  const isLeased = token !== null && attempt !== null && prices !== null && quotedUnits !== null;
  const claim = isLeased
    ? { token, attempt, prices, quotedUnits, reportTo, checkpoint }
    : undefined;
  return { claim, othersWait };
}

type Nullable<T> = { readonly [Key in keyof T]: T[Key] | null };
