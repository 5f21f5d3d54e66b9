import { once } from "node:events";
import { credentials, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "vitest";
import { JobError } from "#framemill/core/errors.js";
import type { WorkerStatus } from "#framemill/core/reports.js";
import { proto } from "#framemill/rpc/proto.js";
import {
  startReportServer,
  type ReportHandlers,
  type ReportServerOptions,
} from "#framemill/rpc/report-server.js";
import { createReporter, type ReporterOptions } from "#framemill/rpc/reporter.js";
import { createArtifact, createCompletion, createFakeFront } from "../../support/rpc-harness.js";

const TOKEN = "a-worker-token-of-some-length";
const lease = { jobId: "video_1", token: 7 };
const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

async function start(
  answers: Partial<ReportHandlers> = {},
  serverOptions: Partial<ReportServerOptions> = {},
) {
  const front = createFakeFront(answers);
  const server = await startReportServer({
    handlers: front,
    host: "127.0.0.1",
    port: 0,
    token: TOKEN,
    ...serverOptions,
  });
  open.push(server);
  return { front, server, address: `127.0.0.1:${server.port}` };
}

function report(address: string, options: Partial<ReporterOptions> = {}) {
  const reporter = createReporter({ address, token: TOKEN, retryMs: 0, ...options });
  open.push(reporter);
  return reporter;
}

describe("unary calls", () => {
  test("a claim brings the lease", async () => {
    const { front, address } = await start();
    const reporter = report(address);
    await reporter.ready(60_000);
    expect(reporter.connected).toBe(true);
    expect(await reporter.claim("video_1", "worker-a")).toEqual({
      outcome: "leased",
      lease: {
        jobId: "video_1",
        token: 7,
        attempt: 2,
        leaseMs: 30_000,
        prices: { videoSeconds: 180_000 },
      },
      checkpoint: null,
    });
    expect(front.calls).toEqual([["claim", "video_1", "worker-a"]]);
  });

  test("a claim brings a checkpoint and the largest token a number can hold", async () => {
    const checkpoint = createArtifact({ variant: "checkpoint" });
    const token = Number.MAX_SAFE_INTEGER;
    const { address } = await start({
      claim: async (jobId) => ({
        outcome: "leased",
        lease: { jobId, token, attempt: 1, leaseMs: 1, prices: { inputTokens: 0.15 } },
        checkpoint,
      }),
    });
    const claimed = await report(address).claim("video_1", "worker-a");
    expect(claimed).toMatchObject({ lease: { token }, checkpoint });
  });

  test.each([{ outcome: "busy", retryAfterMs: 30_000 }, { outcome: "already-done" }] as const)(
    "a claim can be answered $outcome",
    async (answer) => {
      const { address } = await start({ claim: async () => answer });
      expect(await report(address).claim("video_1", "worker-a")).toEqual(answer);
    },
  );

  test("a heartbeat brings lease, cancel and drain", async () => {
    const answer = { outcome: "stale", leaseMs: 0, cancel: true, drain: true } as const;
    const { front, address } = await start({ heartbeat: async () => answer });
    expect(await report(address).heartbeat(lease, "worker-a")).toEqual(answer);
    expect(front.calls).toEqual([["heartbeat", lease, "worker-a"]]);
  });

  test("an announcement arrives whole, and its answer may ask to drain", async () => {
    const { front, address } = await start({ announce: async () => ({ drain: true }) });
    const sent: WorkerStatus = {
      workerId: "w",
      state: "busy",
      models: ["a", "b"],
      slots: 2,
      running: 1,
      device: "NVIDIA H200",
      memoryBytes: 2 ** 40,
      nanoUsdPerHour: 2_490_000_000,
      uptimeMs: 90_061_001,
      startingMs: 42_000,
      busyMs: 80_000_000,
    };
    expect(await report(address).announce(sent)).toEqual({ drain: true });
    expect(front.calls).toEqual([["announce", sent]]);
  });

  test("a completion arrives whole and may be repeated", async () => {
    const { front, address } = await start();
    const reporter = report(address);
    const completion = createCompletion();
    expect(await reporter.complete(completion)).toEqual({ outcome: "recorded" });
    expect(await reporter.complete(completion)).toEqual({ outcome: "recorded" });
    expect(front.calls).toEqual([
      ["complete", completion],
      ["complete", completion],
    ]);
  });

  test("a completion without output arrives as null; unsold units stay absent", async () => {
    const { front, address } = await start();
    await report(address).complete(
      createCompletion({ output: undefined, usage: { images: 0, gpuMs: 1.6 } }),
    );
    expect(front.calls[0]?.[1]).toMatchObject({ output: null });
    expect(front.calls[0]?.[1]).toHaveProperty("usage", { images: 0, gpuMs: 2 });
  });

  test("a failure and a release arrive whole", async () => {
    const { front, address } = await start();
    const reporter = report(address);
    const failure = {
      ...lease,
      failure: { code: "out_of_memory", message: "CUDA: 2 GiB wanted" },
      retryable: true,
      gpuMs: 17,
    } as const;
    const release = { ...lease, checkpoint: createArtifact({ variant: "checkpoint" }), gpuMs: 3 };
    expect(await reporter.fail(failure)).toEqual({ outcome: "retry", retryAfterMs: 5_000 });
    expect(await reporter.release(release)).toEqual({ outcome: "recorded" });
    expect(await reporter.release({ ...release, checkpoint: null })).toEqual({
      outcome: "recorded",
    });
    expect(front.calls).toEqual([
      ["fail", failure],
      ["release", release],
      ["release", { ...release, checkpoint: null }],
    ]);
  });

  test("a front's JobError keeps its code and its retry-after", async () => {
    const { address } = await start({
      claim: async () => {
        throw new JobError("insufficient_quota", "no credit left", { retryAfterSeconds: 9 });
      },
    });
    await expect(report(address).claim("video_1", "worker-a")).rejects.toMatchObject({
      name: "JobError",
      code: "insufficient_quota",
      message: "no credit left",
      retryAfterSeconds: 9,
    });
  });

  test("an unforeseen error keeps the front's internals from the worker", async () => {
    const { address } = await start({
      claim: async () => {
        throw new Error("password authentication failed for user framemill at 10.0.0.3");
      },
    });
    await expect(report(address).claim("video_1", "worker-a")).rejects.toMatchObject({
      code: "server_error",
      message: "internal error",
    });
  });

  test("an unavailable front is retried until it answers", async () => {
    let asked = 0;
    const { address } = await start({
      complete: async () => {
        if (++asked < 3) throw new JobError("service_unavailable", "database away");
        return { outcome: "recorded" };
      },
    });
    const reporter = report(address, { retryMs: 10_000 });
    expect(await reporter.complete(createCompletion())).toEqual({ outcome: "recorded" });
    expect(asked).toBe(3);
  });
});

describe("invalid messages", () => {
  const artifact = {
    id: "a",
    variant: "content",
    mediaType: "video/mp4",
    byteLength: 1,
    sha256: "ab".repeat(32),
  };
  const cost = { prices: { images: 1 }, amountMicroUsd: 1 };
  const good = {
    lease,
    usage: { gpuMilliseconds: 1 },
    cost,
    artifacts: [artifact],
    outputJson: "{}",
  };

  test.each([
    ["no lease", { ...good, lease: null }],
    ["token 0", { ...good, lease: { jobId: "video_1", token: 0 } }],
    ["token above 2^53", { ...good, lease: { jobId: "video_1", token: "18446744073709551615" } }],
    ["no job id", { ...good, lease: { jobId: "", token: 1 } }],
    ["output that is not JSON", { ...good, outputJson: "{" }],
    ["a digest that is none", { ...good, artifacts: [{ ...artifact, sha256: "xyz" }] }],
    ["a negative price", { ...good, cost: { ...cost, prices: { images: -1 } } }],
    [
      "a price that is not a number",
      { ...good, cost: { ...cost, prices: { images: Number.NaN } } },
    ],
    ["no usage", { ...good, usage: null }],
  ])("%s is INVALID_ARGUMENT and reaches no handler", async (_, request) => {
    const { front, address } = await start();
    const client = new proto.framemill.v1.WorkerService(address, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${TOKEN}`);
    const error = await new Promise<ServiceError | null>((resolve) =>
      client.complete(request, metadata, (failure) => resolve(failure)),
    );
    client.close();
    expect(error?.code).toBe(status.INVALID_ARGUMENT);
    expect(front.calls).toEqual([]);
  });

  test("an unknown failure code is refused", async () => {
    const { address } = await start();
    const failure = { code: "no_such_code" as "server_error", message: "" };
    await expect(
      report(address).fail({ ...lease, failure, retryable: false, gpuMs: 0 }),
    ).rejects.toMatchObject({ code: "invalid_value" });
  });

  test("a message above 1 MB is refused before it is sent, and by the server if it is", async () => {
    const { front, address } = await start();
    const big = createCompletion({ output: "x".repeat(1_100_000) });
    await expect(report(address).complete(big)).rejects.toMatchObject({
      code: "payload_too_large",
    });
    const client = new proto.framemill.v1.WorkerService(address, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${TOKEN}`);
    const error = await new Promise<ServiceError | null>((resolve) =>
      client.complete({ ...good, outputJson: JSON.stringify(big.output) }, metadata, (failure) =>
        resolve(failure),
      ),
    );
    client.close();
    expect(error?.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(front.calls).toEqual([]);
  });
});

describe("the worker token", () => {
  test.each([
    { name: "wrong", token: "another-token-of-some-length!" },
    { name: "shorter", token: "a-worker" },
    { name: "empty", token: "" },
  ])("a $name token is refused on every call", async ({ token }) => {
    const { front, address } = await start();
    const reporter = report(address, { token });
    const refused = { code: "invalid_api_key" };
    await expect(reporter.claim("video_1", "worker-a")).rejects.toMatchObject(refused);
    await expect(reporter.complete(createCompletion())).rejects.toMatchObject(refused);
    expect(await codeOfStream(address, token)).toBe(status.UNAUTHENTICATED);
    expect(front.calls).toEqual([]);
    expect(front.reports).toEqual([]);
  });

  /** How a stream of reports ends, whose first report is whole. */
  async function codeOfStream(address: string, token: string): Promise<unknown> {
    const client = new proto.framemill.v1.WorkerService(address, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${token}`);
    const stream = client.report(metadata);
    const refused = once(stream.resume(), "error");
    stream.write({ lease, sequence: 1, fraction: 0.5, stage: "steps" });
    const [{ code }] = await refused;
    client.close();
    return code;
  }

  test("a call that names no token at all is refused, on loopback too", async () => {
    const { front, address } = await start();
    const client = new proto.framemill.v1.WorkerService(address, credentials.createInsecure());
    const code = await new Promise((resolve) =>
      client.claim({ jobId: "video_1", workerId: "nobody" }, (error) => resolve(error?.code)),
    );
    expect(code).toBe(status.UNAUTHENTICATED);
    expect(front.calls).toEqual([]);
    client.close();
  });

  test("health needs no token", async () => {
    const { address } = await start();
    const client = new proto.grpc.health.v1.Health(address, credentials.createInsecure());
    const check = (service: string) =>
      new Promise((resolve) =>
        client.check({ service }, (error, answer) => resolve(error?.code ?? answer?.status)),
      );
    expect(await check("")).toBe("SERVING");
    expect(await check("framemill.v1.WorkerService")).toBe("SERVING");
    expect(await check("no.such.Service")).toBe(status.NOT_FOUND);
    client.close();
  });
});
