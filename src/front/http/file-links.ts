import { createHmac, timingSafeEqual } from "node:crypto";
import { type Database, readSharedSecret } from "../ledger/index.js";

/** Addresses that download one file without a key, for an hour. */
export interface FileLinks {
  /** Path and query below the origin. */
  make(jobId: string, variant: string): string;
  isValid(link: { jobId: string; variant: string; expires: number; signature: string }): boolean;
}

export const LINK_SECONDS = 3_600;
const SECRET = "file-links";

export interface FileLinksOptions {
  readonly database: Database;
  readonly randomBytes: (byteLength: number) => Uint8Array;
  /** Unix milliseconds. */
  readonly clock: () => number;
}

/** Replicas share the key: the first one to start makes it. */
export async function createFileLinks(options: FileLinksOptions): Promise<FileLinks> {
  const { database, randomBytes, clock } = options;
  const value = await readSharedSecret(database, SECRET, randomBytes);
  const sign = (jobId: string, variant: string, expires: number) =>
    createHmac("sha256", value).update(`${jobId}\n${variant}\n${expires}`).digest("hex");
  return {
    make(jobId, variant) {
      const expires = Math.floor(clock() / 1_000) + LINK_SECONDS;
      return `/files/${jobId}/${variant}?expires=${expires}&signature=${sign(jobId, variant, expires)}`;
    },
    isValid({ jobId, variant, expires, signature }) {
      if (!(expires * 1_000 > clock())) return false;
      const expected = Buffer.from(sign(jobId, variant, expires));
      const given = Buffer.from(signature);
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}
