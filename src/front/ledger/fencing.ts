import { createHmac } from "node:crypto";
import { JobError } from "../../core/errors.js";
import type { LeaseRef } from "../../core/reports.js";

/** What the fronts' shared secret for it is called. */
export const FENCING_SECRET = "fencing-tokens";

const SEAL_BYTES = 5;
/** A token is claim × 2^40 + seal, below 2^53, where JavaScript's numbers are exact. */
const SEALS = 2 ** (8 * SEAL_BYTES);
const MOST_CLAIMS = 2 ** 13 - 1;

export interface FencingOptions {
  readonly secret: Uint8Array;
  /** Takes bare claim numbers, as fronts of before gave them. */
  readonly acceptUnsealed: boolean;
}

export type Fencing = ReturnType<typeof createFencing>;

/**
 * Fencing tokens as workers see them. The ledger counts a job's claims; a worker's token is that number
 * and, below it, a seal that only fronts can make: later tokens are greater, and nobody can guess one (docs/decisions/2026-11-23-fencing-tokens-bear-a-seal.md).
 */
export function createFencing({ secret, acceptUnsealed }: FencingOptions) {
  const seal = (jobId: string, claim: number): number => {
    const digest = createHmac("sha256", secret).update(`${jobId}\n${claim}`).digest();
    return claim * SEALS + digest.readUIntBE(0, SEAL_BYTES);
  };
  return {
    /** The token of a job's claim, counted from 1. Throws for a job that was claimed too often. */
    seal(jobId: string, claim: number): number {
      if (claim <= MOST_CLAIMS) return seal(jobId, claim);
      const message = `${jobId} was claimed ${claim} times, at most ${MOST_CLAIMS} have tokens`;
      throw new JobError("server_error", message);
    },
    /** The claim that the token was made for; undefined where no front made it for this job. */
    open({ jobId, token }: LeaseRef): number | undefined {
      const claim = Math.floor(token / SEALS);
      if (claim === 0) return acceptUnsealed ? token : undefined;
      return seal(jobId, claim) === token ? claim : undefined;
    },
  };
}
