import type { ScalerTrigger } from "../../../src/core/scaling.js";
import type { AutoscalerOptions } from "./autoscaler.js";

/** What deploy/kubernetes/components/keda/scaled-object.yaml says; a test holds the two together. */
export const DEPLOYED = {
  minReplicas: 0,
  maxReplicas: 16,
  pollingSeconds: 10,
  cooldownSeconds: 300,
  jobsPerWorker: 4,
  secondsPerWorker: 120,
  scaleUp: {
    stabilizationSeconds: 0,
    // Kubernetes' own, which the ScaledObject leaves as they are.
    policies: [
      { type: "Percent", value: 100, periodSeconds: 15 },
      { type: "Pods", value: 4, periodSeconds: 15 },
    ],
  },
  scaleDown: {
    stabilizationSeconds: 120,
    policies: [{ type: "Pods", value: 1, periodSeconds: 60 }],
  },
  /** Kubernetes' own. */
  tolerance: 0.1,
} as const satisfies Omit<AutoscalerOptions, "triggers"> & {
  readonly jobsPerWorker: number;
  readonly secondsPerWorker: number;
};

/** What to count: jobs, predicted compute-seconds, or the larger of the two, as deployed. */
export const POLICIES = ["jobs", "compute-seconds", "both"] as const;
export type PolicyName = (typeof POLICIES)[number];

export interface Targets {
  readonly jobsPerWorker: number;
  readonly secondsPerWorker: number;
}

/** The triggers of a policy. */
export function triggersOf(
  name: PolicyName,
  { jobsPerWorker, secondsPerWorker }: Targets,
): readonly ScalerTrigger[] {
  const jobs = { models: [], jobsPerWorker, secondsPerWorker: undefined };
  const seconds = { models: [], jobsPerWorker: undefined, secondsPerWorker };
  if (name === "both") return [jobs, seconds];
  return [name === "jobs" ? jobs : seconds];
}
