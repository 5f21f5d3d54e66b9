import type { ProgressResult, SequencedReport } from "./messages.js";

/** Attempts remembered; far more than run at once. */
const REMEMBERED_ATTEMPTS = 10_000;

/**
 * Tells repeated reports from new ones. A worker whose stream was lost sends again what was not
 * acknowledged, and text taken twice would be text shown twice.
 */
export class ReportSequences {
  /** Highest sequence taken, by attempt; the longest silent first. */
  readonly #taken = new Map<string, number>();

  /** Runs `work` for a new report; a repetition is acknowledged without effect. */
  async take(
    { report, sequence }: SequencedReport,
    work: () => Promise<ProgressResult>,
  ): Promise<ProgressResult> {
    const key = `${report.token}:${report.jobId}`;
    const before = this.#taken.get(key) ?? 0;
    if (sequence <= before) return { outcome: "held", cancel: false };
    this.#remember(key, sequence);
    try {
      return await work();
    } catch (error) {
      this.#remember(key, before);
      throw error;
    }
  }

  #remember(key: string, sequence: number): void {
    this.#taken.delete(key);
    this.#taken.set(key, sequence);
    const [oldest] = this.#taken.keys();
    if (this.#taken.size > REMEMBERED_ATTEMPTS && oldest !== undefined) this.#taken.delete(oldest);
  }
}
