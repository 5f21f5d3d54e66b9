import { LRUCache } from "lru-cache";
import type { ProgressResult, SequencedReport } from "./messages.js";

/** Attempts remembered; far more than run at once. */
const REMEMBERED_ATTEMPTS = 10_000;

/**
 * Tells repeated reports from new ones. A worker whose stream was lost sends again what was not
 * acknowledged, and text taken twice would be text shown twice.
 */
export class ReportSequences {
  /** Highest sequence taken, by attempt; the longest silent first. */
  readonly #taken = new LRUCache<string, number>({ max: REMEMBERED_ATTEMPTS });

  /** Runs `work` for a new report; a repetition is acknowledged without effect. */
  async take(
    { report, sequence }: SequencedReport,
    work: () => Promise<ProgressResult>,
  ): Promise<ProgressResult> {
    const key = `${report.token}:${report.jobId}`;
    const before = this.#taken.get(key) ?? 0;
    if (sequence <= before) return { outcome: "held", cancel: false };
    this.#taken.set(key, sequence);
    try {
      return await work();
    } catch (error) {
      this.#taken.set(key, before);
      throw error;
    }
  }
}
