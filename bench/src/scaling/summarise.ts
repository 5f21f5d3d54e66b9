import { distribute, type Distribution, type Series } from "../report/measure.js";
import type { Sample, Simulated } from "./simulate.js";

/** What a policy gave and what it cost. */
export interface ScalingSummary {
  readonly policy: string;
  readonly jobs: number;
  readonly served: number;
  readonly dropped: number;
  /** From arrival to the first start. */
  readonly waitSeconds: Distribution;
  readonly gpuSecondsPaid: number;
  /** Slot-seconds with a job over those that were paid. */
  readonly utilisation: number;
  readonly meanPods: number;
  readonly maxPods: number;
  readonly handedOver: number;
  readonly dollars: number;
  readonly dollarsPerJob: number;
}

export interface SummaryOptions {
  readonly policy: string;
  readonly slots: number;
  readonly dollarsPerGpuHour: number;
}

export function summarise(
  { waits, served, dropped, samples, totals, lastedSeconds }: Simulated,
  { policy, slots, dollarsPerGpuHour }: SummaryOptions,
): ScalingSummary {
  const { paidSeconds, busySeconds, handedOver } = totals;
  const dollars = (paidSeconds / 3_600) * dollarsPerGpuHour;
  const seconds = waits.map((wait) => wait.seconds);
  return {
    policy,
    jobs: served + dropped,
    served,
    dropped,
    waitSeconds: distribute({ what: "wait", unit: "s" }, seconds),
    gpuSecondsPaid: paidSeconds,
    utilisation: paidSeconds === 0 ? 0 : busySeconds / (paidSeconds * slots),
    meanPods: lastedSeconds === 0 ? 0 : paidSeconds / lastedSeconds,
    maxPods: samples.reduce((most, { pods }) => Math.max(most, pods), 0),
    handedOver,
    dollars,
    dollarsPerJob: served === 0 ? 0 : dollars / served,
  };
}

/** Points of a line, ten minutes of a day each. */
const BUCKETS = 144;

/** Queue, pods and waits over time, each policy a line. */
export function seriesOf(policy: string, simulated: Simulated): Series[] {
  const { samples, waits, lastedSeconds } = simulated;
  const bucketSeconds = Math.max(1, lastedSeconds / BUCKETS);
  const line = (yLabel: string, points: readonly (readonly [number, number])[]): Series => ({
    name: policy,
    xLabel: "hours",
    yLabel,
    points,
  });
  const mean = (read: (sample: Sample) => number) =>
    bucketed(
      samples,
      bucketSeconds,
      (part) => part.reduce((sum, sample) => sum + read(sample), 0) / part.length,
    );
  return [
    line(
      "jobs waiting, mean",
      mean(({ waiting }) => waiting),
    ),
    line(
      "pods, mean",
      mean(({ pods }) => pods),
    ),
    line(
      "wait, p90, seconds",
      bucketed(
        waits,
        bucketSeconds,
        (part) =>
          distribute(
            { what: "", unit: "" },
            part.map(({ seconds }) => seconds),
          ).p90,
      ),
    ),
  ];
}

function bucketed<T extends { readonly atSeconds: number }>(
  values: readonly T[],
  bucketSeconds: number,
  reduce: (part: readonly T[]) => number,
): (readonly [number, number])[] {
  const buckets = new Map<number, T[]>();
  for (const value of values) {
    const bucket = Math.floor(value.atSeconds / bucketSeconds);
    const part = buckets.get(bucket);
    if (part === undefined) buckets.set(bucket, [value]);
    else part.push(value);
  }
  return [...buckets].map(([bucket, part]) => [(bucket * bucketSeconds) / 3_600, reduce(part)]);
}
