import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import {
  Autoscaler,
  type AutoscalerOptions,
  DEPLOYED,
  triggersOf,
} from "#framemill/bench/scaling/autoscaler.js";
import { type Arrival, generateTrace, parseTrace } from "#framemill/bench/scaling/trace.js";
import { simulate, type SimulationOptions } from "#framemill/bench/scaling/simulate.js";
import { randomStream } from "#framemill/models/sampling/noise.js";

const manifest = new URL(
  "../../../../deploy/kubernetes/components/keda/scaled-object.yaml",
  import.meta.url,
);
const pools = new URL("../../../../deploy/kubernetes/overlays/pools/", import.meta.url);
const job = { modality: "video", model: "any", tier: "", work: 1 };
const autoscaler: AutoscalerOptions = { ...DEPLOYED, triggers: triggersOf("both", DEPLOYED) };
const options: SimulationOptions = {
  autoscaler,
  pods: { slots: 1, startSeconds: 75, drainSeconds: 20, busyLast: false, resumes: true },
  deadlineSeconds: 86_400,
};

describe("the autoscaler that is simulated", () => {
  it("has the numbers of the ScaledObject that is deployed", async () => {
    const { spec } = parse(await readFile(fileURLToPath(manifest), "utf8"));
    const { behavior } = spec.advanced.horizontalPodAutoscalerConfig;
    const [{ metadata: jobs }, { metadata: seconds }] = spec.triggers;
    expect({
      minReplicas: spec.minReplicaCount,
      maxReplicas: spec.maxReplicaCount,
      pollingSeconds: spec.pollingInterval,
      cooldownSeconds: spec.cooldownPeriod,
      jobsPerWorker: Number(jobs.jobsPerWorker),
      secondsPerWorker: Number(seconds.secondsPerWorker),
      up: behavior.scaleUp,
      down: behavior.scaleDown,
    }).toEqual({
      minReplicas: DEPLOYED.minReplicas,
      maxReplicas: DEPLOYED.maxReplicas,
      pollingSeconds: DEPLOYED.pollingSeconds,
      cooldownSeconds: DEPLOYED.cooldownSeconds,
      jobsPerWorker: DEPLOYED.jobsPerWorker,
      secondsPerWorker: DEPLOYED.secondsPerWorker,
      up: { stabilizationWindowSeconds: DEPLOYED.scaleUp.stabilizationSeconds },
      down: {
        stabilizationWindowSeconds: DEPLOYED.scaleDown.stabilizationSeconds,
        policies: DEPLOYED.scaleDown.policies,
      },
    });
  });

  it("has a pool for every model, whose triggers name what its workers serve", async () => {
    const read = async (path: string) =>
      await readFile(fileURLToPath(new URL(path, pools)), "utf8");
    const scaled = parseAllDocuments(await read("scaled-objects.yaml")).map((one) => one.toJS());
    const served = await Promise.all(
      ["clips", "interactive"].map(async (pool, index) => {
        const { spec } = parse(await read(`${pool}/models.yaml`));
        const [{ value }] = spec.template.spec.containers[0].env;
        const { scaleTargetRef, triggers } = scaled[index].spec;
        expect(scaleTargetRef.name).toBe(`framemill-worker-${pool}`);
        for (const { metadata } of triggers) expect(metadata.models).toBe(value);
        return String(value).split(",");
      }),
    );
    const folders = await readdir(fileURLToPath(new URL("../../../../models/", import.meta.url)));
    expect(served.flat().toSorted()).toEqual(
      folders.filter((name) => name.startsWith("service-")).toSorted(),
    );
  });

  it("wakes one, doubles or adds four each 15 s, bears a tenth, and takes one a minute", () => {
    const scaler = new Autoscaler(autoscaler);
    const jobs = (count: number) => ({ jobs: count, seconds: 0 });
    expect(scaler.poll(0, 0, jobs(100))).toBe(1);
    expect(scaler.sync(0, 1, jobs(100))).toBe(5);
    expect(scaler.sync(15, 5, jobs(100))).toBe(10);
    expect(scaler.sync(30, 10, jobs(100))).toBe(16);
    expect(scaler.sync(45, 16, jobs(58))).toBe(16);
    expect(scaler.sync(150, 16, jobs(4))).toBe(16);
    expect(scaler.sync(165, 16, jobs(4))).toBe(15);
    expect(scaler.sync(210, 15, jobs(4))).toBe(15);
    expect(scaler.sync(225, 15, jobs(4))).toBe(14);
    expect(scaler.poll(300, 14, jobs(0))).toBe(14);
    expect(scaler.poll(301, 14, jobs(0))).toBe(0);
    expect(new Autoscaler(autoscaler).sync(0, 2, { jobs: 1, seconds: 600 })).toBe(5);
  });
});

describe("a simulated trace", () => {
  const anyRun = fc.record({
    jobs: fc.array(
      fc.record({
        atSeconds: fc.integer({ min: 0, max: 7_200 }),
        seconds: fc.integer({ min: 1, max: 400 }),
      }),
      { minLength: 1, maxLength: 60 },
    ),
    minReplicas: fc.integer({ min: 0, max: 2 }),
    maxReplicas: fc.integer({ min: 2, max: 5 }),
    deadlineSeconds: fc.integer({ min: 30, max: 4_000 }),
    busyLast: fc.boolean(),
  });

  it("ends every job once, keeps to the limits, and pays for at least what it works", () => {
    fc.assert(
      fc.property(anyRun, ({ jobs, minReplicas, maxReplicas, deadlineSeconds, busyLast }) => {
        const trace = jobs
          .map((each): Arrival => ({ ...job, ...each }))
          .toSorted((a, b) => a.atSeconds - b.atSeconds);
        const { served, dropped, waits, samples, totals } = simulate(trace, {
          autoscaler: { ...autoscaler, minReplicas, maxReplicas },
          pods: { ...options.pods, busyLast },
          deadlineSeconds,
        });
        expect(served + dropped).toBe(trace.length);
        expect(waits.length).toBeGreaterThanOrEqual(served);
        expect(waits.every(({ seconds }) => seconds >= 0 && seconds < deadlineSeconds)).toBe(true);
        const replicas = samples.map((sample) => sample.replicas);
        expect(Math.max(...replicas)).toBeLessThanOrEqual(maxReplicas);
        expect(Math.min(...replicas)).toBeGreaterThanOrEqual(minReplicas);
        expect(totals.busySeconds).toBeLessThanOrEqual(secondsOf(trace) + 1e-6);
        expect(totals.paidSeconds).toBeGreaterThanOrEqual(totals.busySeconds - 1e-6);
      }),
      { numRuns: 60, seed: 1 },
    );
  });

  it("lets a busy pod work until its drain is over, then hands its job over", () => {
    const scaleDown = { stabilizationSeconds: 0, policies: DEPLOYED.scaleDown.policies };
    const of = (drainSeconds: number, resumes: boolean) =>
      simulate(few(12), {
        ...options,
        autoscaler: { ...autoscaler, triggers: triggersOf("jobs", DEPLOYED), scaleDown },
        pods: { ...options.pods, drainSeconds, resumes },
      });
    const patient = of(400, true);
    const hurried = of(20, true);
    const forgetful = of(20, false);
    expect(patient.totals.handedOver).toBe(0);
    expect(hurried.totals.handedOver).toBeGreaterThan(0);
    expect(patient.totals.busySeconds).toBeCloseTo(secondsOf(few(12)), 3);
    expect(hurried.totals.busySeconds).toBeCloseTo(secondsOf(few(12)), 3);
    expect(forgetful.totals.busySeconds).toBeGreaterThan(hurried.totals.busySeconds);
    expect([patient, hurried, forgetful].map(({ served }) => served)).toEqual([12, 12, 12]);
  });

  /**
   * Erlang C for 4 servers at 0.7: P(wait) 0.429, mean wait 0.357 service times. Means of 20 batches are
   * nearly independent, so the mean of all lies within four of its standard errors.
   */
  it("waits as M/M/4 does, where the pods are fixed", () => {
    const servers = 4;
    const perSecond = 2.8;
    const count = 60_000;
    const random = randomStream(7, 0);
    let atSeconds = 0;
    const trace = Array.from({ length: count }, (_, index): Arrival => {
      atSeconds -= Math.log(1 - random.at(2 * index)) / perSecond;
      return { ...job, atSeconds, seconds: -Math.log(1 - random.at(2 * index + 1)) };
    });
    const { waits } = simulate(trace, {
      ...options,
      autoscaler: { ...autoscaler, minReplicas: servers, maxReplicas: servers },
    });
    const batches = Array.from({ length: 20 }, (_, batch) =>
      meanOf(waits.slice((batch * count) / 20, ((batch + 1) * count) / 20)),
    );
    const mean = meanOf(waits);
    const squares = batches.reduce((sum, each) => sum + (each - mean) ** 2, 0);
    const standardError = Math.sqrt(squares / 19 / 20);
    const expected = erlangC(servers, perSecond) / (servers - perSecond);
    expect(expected).toBeCloseTo(0.357, 3);
    expect(standardError).toBeLessThan(0.06 * expected);
    expect(Math.abs(mean - expected)).toBeLessThan(4 * standardError);
  });

  it("is the same for the same seed, and another for another", () => {
    const mix = [{ tier: "fast", share: 1, secondsPerUnit: 4 }];
    const of = (seed: number) =>
      generateTrace({ shape: "burst", perHour: 200, hours: 4, mix, spread: 0.2, seed });
    expect(of(3)).toEqual(of(3));
    expect(simulate(of(3), options)).toEqual(simulate(of(3), options));
    expect(of(4)).not.toEqual(of(3));
    const perHour = of(3).length / 4;
    // Poisson: 800 jobs, four standard deviations.
    expect(Math.abs(perHour * 4 - 800)).toBeLessThan(4 * Math.sqrt(800));
  });

  it("is read from CSV and from lines of JSON alike, and says which line is wrong", () => {
    const csv = parseTrace("time_s,tier,seconds\n5,high,60\n1,,30\n");
    const json = parseTrace('{"time_s":1,"seconds":30}\n{"time_s":5,"tier":"high","seconds":60}\n');
    expect(csv).toEqual(json);
    expect(csv[0]).toMatchObject({ atSeconds: 1, tier: "", work: 1, seconds: 30 });
    expect(() => parseTrace("time_s,seconds\n1,-3\n")).toThrow(/line 2 of the trace: seconds/);
  });
});

/** Of different lengths, so that pods are in the middle of jobs when they are told to leave. */
function few(count: number): Arrival[] {
  return Array.from({ length: count }, (_, at) => ({
    ...job,
    atSeconds: 1,
    seconds: 70 + 23 * at,
  }));
}

function secondsOf(trace: readonly Arrival[]): number {
  return trace.reduce((sum, { seconds }) => sum + seconds, 0);
}

function meanOf(waits: readonly { readonly seconds: number }[]): number {
  return waits.reduce((sum, { seconds }) => sum + seconds, 0) / waits.length;
}

/** Probability of a wait with this offered load in Erlang (Erlang, 1917). */
function erlangC(servers: number, load: number): number {
  let blocking = 1;
  for (let n = 1; n <= servers; n += 1) blocking = (load * blocking) / (n + load * blocking);
  return blocking / (1 - (load / servers) * (1 - blocking));
}
