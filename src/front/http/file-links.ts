import { createHmac, timingSafeEqual } from "node:crypto";
import { type Database, readSharedSecret } from "../ledger/index.js";

export const LINK_SECONDS = 3_600;
const SECRET = "file-links";

interface FileLinksOptions {
  readonly database: Database;
  readonly randomBytes: (byteLength: number) => Uint8Array;
  /** Unix milliseconds. */
  readonly clock: () => number;
}

interface Link {
  readonly jobId: string;
  readonly variant: string;
  readonly expires: number;
  readonly signature: string;
}

export type FileLinks = Awaited<ReturnType<typeof createFileLinks>>;

/**
 * Addresses that download one file without a key, for an hour. Replicas share the key that signs them:
 * the first one to start makes it.
 */
export async function createFileLinks({ database, randomBytes, clock }: FileLinksOptions) {
  const value = await readSharedSecret(database, SECRET, randomBytes);
  const sign = (jobId: string, variant: string, expires: number) =>
    createHmac("sha256", value).update(`${jobId}\n${variant}\n${expires}`).digest("hex");
  const query = (jobId: string, variant: string, expires: number) =>
    `expires=${expires}&signature=${sign(jobId, variant, expires)}`;
  return {
    /** Path and query below the origin. */
    make(jobId: string, variant: string): string {
      const expires = Math.floor(clock() / 1_000) + LINK_SECONDS;
      return `/files/${jobId}/${variant}?${query(jobId, variant, expires)}`;
    },
    /** The query that signs a variant for one to two hours: the same for whoever asks within an hour. */
    makeSteady(jobId: string, variant: string): string {
      const hours = Math.floor(clock() / (LINK_SECONDS * 1_000));
      return query(jobId, variant, (hours + 2) * LINK_SECONDS);
    },
    isValid({ jobId, variant, expires, signature }: Link): boolean {
      if (!(expires * 1_000 > clock())) return false;
      const expected = Buffer.from(sign(jobId, variant, expires));
      const given = Buffer.from(signature);
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}
