import { credentials } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Front } from "#framemill/front/front.js";
import { proto } from "#framemill/rpc/proto.js";
import {
  claim,
  createJob,
  MODEL,
  ENGINE,
  makeClip,
  openaiClient,
  REPLY_MODELS,
  SOON,
  startHarness,
  type Harness,
} from "../../support/front-harness.js";
import { openJob, say, words, wordsCompletion } from "../../support/front-workers.js";

type Client = InstanceType<typeof proto.externalscaler.ExternalScaler>;
type Metadata = Readonly<Record<string, string>>;

const JOBS = 50;
/** Paces are written every 3 s and read anew as often. */
const PACE_SOON = { timeout: 30_000, interval: 250 };

describe("KEDA, asking a front", () => {
  let harness: Harness;
  let client: Client;
  beforeAll(async () => {
    harness = await startHarness(ENGINE, { scalerPort: 0 });
    client = connect(harness.front);
  });
  afterAll(async () => {
    client?.close();
    await harness?.close();
  });

  const connect = ({ scalerPort }: Front): Client =>
    new proto.externalscaler.ExternalScaler(
      `127.0.0.1:${scalerPort}`,
      credentials.createInsecure(),
    );
  const refOf = (scalerMetadata: Metadata) => ({
    name: "workers",
    namespace: "gpu",
    scalerMetadata,
  });
  const isActive = async (scalerMetadata: Metadata): Promise<boolean> =>
    await new Promise((resolve, reject) => {
      client.IsActive(refOf(scalerMetadata), (error, answer) =>
        error === null ? resolve(answer?.result === true) : reject(error),
      );
    });
  const specOf = async (scalerMetadata: Metadata) =>
    await new Promise<unknown>((resolve, reject) => {
      client.GetMetricSpec(refOf(scalerMetadata), (error, answer) =>
        error === null ? resolve(answer?.metricSpecs) : reject(error),
      );
    });
  const valueOf = async (metricName: string, scalerMetadata: Metadata): Promise<number> =>
    await new Promise((resolve, reject) => {
      const scaledObjectRef = refOf(scalerMetadata);
      client.GetMetrics({ scaledObjectRef, metricName }, (error, answer) =>
        error === null ? resolve(answer?.metricValues[0]?.metricValueFloat ?? -1) : reject(error),
      );
    });

  it("counts queued and running jobs of the models it names, and no flex jobs", async () => {
    const flex = { model: MODEL, prompt: "a fox", seconds: 4, service_tier: "flex" };
    await createJob(harness.front, harness.account.key, flex);
    expect(await isActive({})).toBe(false);
    const results: boolean[] = [];
    const stream = client.StreamIsActive(refOf({ models: MODEL }));
    stream.on("data", ({ result }: { readonly result: boolean }) => results.push(result));
    stream.on("error", () => {});
    await expect.poll(() => results, SOON).toEqual([false]);

    const { key } = harness.account;
    const ids = await Promise.all(
      Array.from({ length: JOBS }, () => createJob(harness.front, key)),
    );
    await expect.poll(() => results, SOON).toEqual([false, true]);
    stream.cancel();
    expect(await valueOf("outstanding-jobs", { models: MODEL })).toBe(JOBS);
    expect(await isActive({ models: "another, one" })).toBe(false);
    await claim(harness.front, ids[0] ?? "");
    expect(await valueOf("outstanding-jobs", {})).toBe(JOBS);
  });

  it("reads how long a worker will need, once jobs of that kind were measured", async () => {
    const { key } = harness.account;
    const open = await valueOf("outstanding-jobs", { models: MODEL });
    expect(await valueOf("outstanding-seconds", {})).toBe(0);
    await makeClip(harness, key);
    // Of 1.234 s for 4 seconds of clip; the others have 4 seconds each, too.
    await expect
      .poll(() => valueOf("outstanding-seconds", { models: MODEL }), PACE_SOON)
      .toBeCloseTo(1.234 * open, 3);
  });

  it("counts replied jobs by the batch size of a worker", async () => {
    const models = REPLY_MODELS.unattended;
    const { chat } = openaiClient(harness.front, harness.account.key);
    const leaving = new AbortController();
    const ask = () =>
      chat.completions
        .create({ ...say("one"), model: models }, { signal: leaving.signal })
        .catch(() => undefined);
    const first = ask();
    const lease = await claim(harness.front, await openJob(harness));
    const report = wordsCompletion(lease, words("done"));
    await harness.front.handlers.complete({ ...report, usage: { ...report.usage, gpuMs: 4_000 } });
    await first;
    const [second, third] = [ask(), ask()];
    // Of eight places two are taken; each needs half of a worker's second.
    await expect.poll(() => valueOf("outstanding-jobs", { models }), SOON).toBe(2 / 8);
    await expect
      .poll(() => valueOf("outstanding-seconds", { models }), PACE_SOON)
      .toBeCloseTo(1, 6);
    leaving.abort();
    await Promise.all([second, third]);
  });

  it("asks for no more workers than MAX_GPU_DOLLARS_PER_HOUR pays for", async () => {
    const capped = await startHarness(ENGINE, { scalerPort: 0, maxGpuDollarsPerHour: 5 });
    const others = client;
    client = connect(capped.front);
    try {
      const { key } = capped.account;
      await Promise.all(Array.from({ length: 20 }, () => createJob(capped.front, key)));
      const trigger = { models: MODEL, jobsPerWorker: "4" };
      await expect(valueOf("outstanding-jobs", trigger)).rejects.toThrow("gpuDollarsPerHour");
      // Two workers of two dollars, four jobs each; none of six dollars.
      expect(await valueOf("outstanding-jobs", { ...trigger, gpuDollarsPerHour: "2" })).toBe(8);
      expect(await isActive({ ...trigger, gpuDollarsPerHour: "2" })).toBe(true);
      expect(await isActive({ ...trigger, gpuDollarsPerHour: "6" })).toBe(false);
    } finally {
      client.close();
      client = others;
      await capped.close();
    }
  });

  it("answers the target that it is asked for, and refuses one that is no number", async () => {
    expect(await specOf({})).toEqual([
      { metricName: "outstanding-jobs", targetSize: "1", targetSizeFloat: 1 },
    ]);
    expect(await specOf({ jobsPerWorker: "2.5", secondsPerWorker: "60" })).toEqual([
      { metricName: "outstanding-jobs", targetSize: "3", targetSizeFloat: 2.5 },
      { metricName: "outstanding-seconds", targetSize: "60", targetSizeFloat: 60 },
    ]);
    await expect(specOf({ jobsPerWorker: "none" })).rejects.toThrow(
      /jobsPerWorker must be a number above 0, got none/,
    );
  });
});
