import { afterEach, describe, expect, test } from "vitest";
import { JobError } from "#framemill/core/errors.js";
import { startReportServer, type ReportHandlers } from "#framemill/rpc/report-server.js";
import { createReporter, type ReporterOptions } from "#framemill/rpc/reporter.js";
import { createGate } from "../../support/queue-harness.js";
import {
  chunksOf,
  createCompletion,
  createFakeFront,
  textOf,
  until,
} from "../../support/rpc-harness.js";

const TOKEN = "a-worker-token-of-some-length";
const lease = { jobId: "video_1", token: 7 };
const never = new AbortController().signal;
const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

async function start(answers: Partial<ReportHandlers> = {}) {
  const front = createFakeFront(answers);
  const server = await startReportServer({
    handlers: front,
    host: "127.0.0.1",
    port: 0,
    token: TOKEN,
  });
  open.push(server);
  return { front, server, address: `127.0.0.1:${server.port}` };
}

function report(address: string, options: Partial<ReporterOptions> = {}) {
  const reporter = createReporter({ address, token: TOKEN, retryMs: 0, ...options });
  open.push(reporter);
  return reporter;
}

describe("the report stream", () => {
  test("delivers progress and text in order, and reports when all of it was taken", async () => {
    const order: string[] = [];
    const { front, address } = await start({
      complete: async () => {
        order.push(textOf(front.reports));
        return { outcome: "recorded" };
      },
    });
    const reporter = report(address);
    const words = Array.from({ length: 500 }, (_, index) => `word${index} `);
    for (const [index, word] of words.entries())
      reporter.progress({ ...lease, fraction: index / 500, stage: "tokens", ...chunksOf(word) });
    expect(await reporter.flush(lease, never)).toBe(true);
    await reporter.complete(createCompletion());
    expect(order).toEqual([words.join("")]);
  });

  test("while the front is slow, drops old progress and joins text", async () => {
    const ready = createGate();
    const { front, address } = await start({
      progress: async (each) => {
        await ready.opened;
        front.reports.push(each);
        return { outcome: "held", cancel: false };
      },
    });
    const reporter = report(address);
    const filler = "x".repeat(2_000);
    let sent = "";
    for (let step = 1; step <= 2_000; step++) {
      const text = step % 2 === 0 ? `${step}${filler}` : "";
      sent += text;
      reporter.progress({
        ...lease,
        fraction: step / 2_000,
        stage: "steps",
        ...(text !== "" && chunksOf(text)),
      });
      if (step % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    ready.open();
    await until(() => textOf(front.reports).length === sent.length);
    expect(textOf(front.reports)).toBe(sent);
    expect(front.reports.length).toBeLessThan(1_000);
    expect(front.reports.at(-1)?.fraction).toBe(1);
  });

  test("cuts long text into messages without breaking characters", async () => {
    const { front, address } = await start();
    const reporter = report(address);
    const bytes = Buffer.from("0123456789".repeat(100_000));
    reporter.progress({
      ...lease,
      fraction: 0.1,
      stage: "sound",
      chunks: [{ type: "bytes", bytes }],
    });
    await until(() => textOf(front.reports).length === bytes.length);
    expect(textOf(front.reports)).toBe(bytes.toString());
  });

  test("reports at once that a job was cancelled or lost", async () => {
    const directives: unknown[] = [];
    const { address } = await start({
      progress: async ({ jobId }) => ({
        outcome: jobId === "video_1" ? "held" : "stale",
        cancel: jobId !== "video_2",
      }),
    });
    const reporter = report(address, {
      onDirective: (ref, directive) => directives.push([ref, directive]),
    });
    reporter.progress({ ...lease, fraction: 0.1, stage: "steps" });
    reporter.progress({ jobId: "video_2", token: 1, fraction: 0.1, stage: "steps" });
    // It ended as cancelled before the report came.
    reporter.progress({ jobId: "video_3", token: 1, fraction: 0.1, stage: "steps" });
    await until(() => directives.length === 3);
    expect(directives).toEqual([
      [lease, "cancel"],
      [{ jobId: "video_2", token: 1 }, "stale"],
      [{ jobId: "video_3", token: 1 }, "cancel"],
    ]);
  });

  test("survives a progress handler that fails, and repeats what it was too busy for", async () => {
    let calls = 0;
    const { front, address } = await start({
      progress: async (each) => {
        if (++calls === 1) throw new Error("planned");
        if (calls === 2) throw new JobError("service_unavailable", "planned");
        front.reports.push(each);
        return { outcome: "held", cancel: false };
      },
    });
    const reporter = report(address);
    reporter.progress({ ...lease, fraction: 0.1, stage: "tokens", ...chunksOf("dropped ") });
    await until(() => calls === 1);
    reporter.progress({ ...lease, fraction: 0.2, stage: "tokens", ...chunksOf("kept") });
    await until(() => front.reports.length === 1);
    expect(textOf(front.reports)).toBe("kept");
  });
});
