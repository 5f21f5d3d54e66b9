import { setTimeout as sleep } from "node:timers/promises";
import { vi } from "vitest";
import type { Artifact } from "#framemill/core/artifact.js";
import type { CompletionReport, ProgressReport } from "#framemill/core/reports.js";
import type { ReportHandlers } from "#framemill/rpc/report-server.js";

/** A front that says yes, remembers what was reported, and can be given other answers. */
export interface FakeFront extends ReportHandlers {
  readonly calls: (readonly [name: string, ...rest: unknown[]])[];
  readonly reports: ProgressReport[];
}

export function createFakeFront(answers: Partial<ReportHandlers> = {}): FakeFront {
  const calls: FakeFront["calls"] = [];
  const reports: ProgressReport[] = [];
  const front: ReportHandlers = {
    claim: async (jobId) => ({
      outcome: "leased",
      lease: { jobId, token: 7, attempt: 2, leaseMs: 30_000, prices: { videoSeconds: 180_000 } },
      checkpoint: null,
    }),
    heartbeat: async () => ({ outcome: "held", leaseMs: 30_000, cancel: false, drain: false }),
    progress: async (report) => {
      reports.push(report);
      return { outcome: "held", cancel: false };
    },
    complete: async () => ({ outcome: "recorded" }),
    fail: async () => ({ outcome: "retry", retryAfterMs: 5_000 }),
    release: async () => ({ outcome: "recorded" }),
    announce: async () => ({ drain: false }),
    ...answers,
  };
  return {
    calls,
    reports,
    claim: (...rest) => (calls.push(["claim", ...rest]), front.claim(...rest)),
    heartbeat: (...rest) => (calls.push(["heartbeat", ...rest]), front.heartbeat(...rest)),
    progress: (...rest) => front.progress(...rest),
    complete: (...rest) => (calls.push(["complete", ...rest]), front.complete(...rest)),
    fail: (...rest) => (calls.push(["fail", ...rest]), front.fail(...rest)),
    announce: (...rest) => (calls.push(["announce", ...rest]), front.announce(...rest)),
    release: (...rest) => (calls.push(["release", ...rest]), front.release(...rest)),
  };
}

export function createArtifact(fields: Partial<Artifact> = {}): Artifact {
  return {
    id: "video_1/7/content.mp4",
    variant: "content",
    mediaType: "video/mp4",
    byteLength: 5_000_000_000,
    sha256: "ab".repeat(32),
    ...fields,
  };
}

export function createCompletion(fields: Partial<CompletionReport> = {}): CompletionReport {
  return {
    jobId: "video_1",
    token: 7,
    usage: { videoSeconds: 4.041666, gpuMs: 12_345 },
    cost: { prices: { videoSeconds: 180_000 }, amountMicroUsd: 727_500 },
    artifacts: [
      createArtifact(),
      createArtifact({ id: "video_1/7/thumbnail.webp", byteLength: 0 }),
    ],
    output: { frameCount: 97, nested: [1, "two", null] },
    ...fields,
  };
}

/** A report's chunks from text. */
export function chunksOf(text: string): Pick<ProgressReport, "chunks"> {
  return { chunks: [{ type: "json", value: text }] };
}

/** The text of all reports' chunks. */
export function textOf(reports: readonly ProgressReport[]): string {
  const chunks = reports.flatMap((report) => report.chunks ?? []);
  return chunks
    .map((chunk) => (chunk.type === "json" ? String(chunk.value) : Buffer.from(chunk.bytes)))
    .join("");
}

/** The real clock, whatever a test does to the global one. */
const nowMs = performance.now.bind(performance);
const PATIENCE_MS = 60_000;

/** Waits until the claim holds. */
export async function until(claim: () => boolean): Promise<void> {
  const end = nowMs() + PATIENCE_MS;
  while (!claim()) {
    if (nowMs() > end) throw new Error(`not within ${PATIENCE_MS} ms: ${claim.toString()}`);
    await sleep(5);
  }
}

/** Time that passes when the test says so, for deadlines and pauses that begin from now on. */
export function holdClock() {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"] });
  const hurryUntil = (claim: () => boolean) =>
    until(() => {
      vi.advanceTimersByTime(STEP_MS);
      return claim();
    });
  return {
    hurryUntil,
    /** Lets that much time pass, with turns for the network between. */
    async pass(ms: number): Promise<void> {
      const end = Date.now() + ms;
      await hurryUntil(() => Date.now() >= end);
    },
    /** Lets time pass until the work has settled. */
    async hurry<T>(work: Promise<T>): Promise<T> {
      let isSettled = false;
      const settle = () => void (isSettled = true);
      work.then(settle, settle);
      await hurryUntil(() => isSettled);
      return await work;
    },
  };
}

const STEP_MS = 50;
