import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { reasonOf, toJobError } from "../core/errors.js";
import type { Job } from "../core/job.js";
import { makePrivateFolder } from "../storage/index.js";
import type { CompletionReport, Reporter } from "../core/reports.js";
import type { Log } from "./log.js";

/** Completions that no front has taken yet, on disk: finished work outlives its worker. */
export interface Spool {
  /** Resolves when the report lies on disk; the answer removes it. */
  keep(report: CompletionReport): Promise<() => Promise<void>>;
  /**
   * Sends what an earlier attempt at the job finished. `ended`: the front has it; `none`: there is
   * nothing, or another attempt has the job; rejects while the front is away.
   */
  settle(job: Job): Promise<"ended" | "none">;
  /** Sends what lies there, as it does by itself every minute; what no front takes now stays. */
  sendAll(): Promise<void>;
  close(): void;
  /** Reports that lie on disk. */
  readonly size: number;
}

export interface SpoolOptions {
  /** Folder of one file a report. */
  readonly folder: string;
  readonly reporter: Pick<Reporter, "complete">;
  readonly log: Log;
}

const RESEND_MS = 60_000;

const kept = z.object({
  /** Written by this worker's own code. */
  report: z.custom<CompletionReport>((value) => typeof value === "object" && value !== null),
});

/** Opens the folder. Workers may share one: a report that is sent twice is recorded once. */
export async function openSpool({ folder, reporter, log }: SpoolOptions): Promise<Spool> {
  await makePrivateFolder(folder, "DATA_DIR");
  const present = new Set(await readdir(folder));
  const pathOf = (jobId: string) => join(folder, `${jobId}.json`);
  const forget = async (jobId: string): Promise<void> => {
    present.delete(`${jobId}.json`);
    // What a front has may lie here for longer: sent again, it changes nothing.
    await rm(pathOf(jobId), { force: true }).catch((thrown: unknown) =>
      log.warn({ jobId, reason: reasonOf(thrown) }, "spooled completion not removed"),
    );
  };
  const send = async (path: string): Promise<"ended" | "none"> => {
    const text = await readFile(path, "utf8").catch(() => undefined);
    if (text === undefined) return "none";
    const { report } = kept.parse(JSON.parse(text));
    const { jobId } = report;
    const { outcome } = await reporter.complete(report);
    await forget(jobId);
    log.info({ jobId, outcome }, "spooled completion sent");
    return outcome === "recorded" ? "ended" : "none";
  };
  const sendEach = async (): Promise<void> => {
    for (const name of present) {
      if (!name.endsWith(".json")) continue;
      await send(join(folder, name)).catch((thrown: unknown) =>
        log.warn({ file: name, reason: toJobError(thrown).message }, "spooled completion not sent"),
      );
    }
  };
  let sending: Promise<void> | undefined;
  const sendAll = async (): Promise<void> => {
    sending ??= sendEach().finally(() => (sending = undefined));
    await sending;
  };
  const resending = setInterval(() => void sendAll(), RESEND_MS).unref();
  return {
    sendAll,
    close: () => clearInterval(resending),
    get size() {
      return present.size;
    },
    async keep(report) {
      const path = pathOf(report.jobId);
      const partial = `${path}.partial`;
      const text = JSON.stringify({ report });
      try {
        await writeFile(partial, text, { flush: true });
        await rename(partial, path);
      } catch (thrown) {
        await rm(partial, { force: true }).catch(() => {});
        throw thrown;
      }
      present.add(`${report.jobId}.json`);
      return async () => await forget(report.jobId);
    },
    settle: async ({ id }) => (present.has(`${id}.json`) ? await send(pathOf(id)) : "none"),
  };
}
