import {
  isActive,
  metricsOf,
  metricValue,
  type Outstanding,
  type ScalerTrigger,
} from "../../../src/core/scaling.js";

/** How far replicas may go within a time. */
export interface ScalingPolicy {
  readonly type: "Pods" | "Percent";
  readonly value: number;
  readonly periodSeconds: number;
}

export interface ScalingRules {
  readonly stabilizationSeconds: number;
  /** The one that allows the most holds (`selectPolicy: Max`). */
  readonly policies: readonly ScalingPolicy[];
}

/** A ScaledObject of KEDA's, as far as it decides about replicas. */
export interface AutoscalerOptions {
  readonly triggers: readonly ScalerTrigger[];
  readonly minReplicas: number;
  readonly maxReplicas: number;
  readonly pollingSeconds: number;
  /** From the last work to no replica at all. */
  readonly cooldownSeconds: number;
  /** Share by which a metric may miss its target without anything being done. */
  readonly tolerance: number;
  readonly scaleUp: ScalingRules;
  readonly scaleDown: ScalingRules;
}

/** How often the horizontal pod autoscaler looks (kube-controller-manager's default). */
export const SYNC_SECONDS = 15;

interface Change {
  readonly atSeconds: number;
  readonly replicas: number;
}

/**
 * KEDA between none and one, Kubernetes' horizontal pod autoscaler from one up. Written from their
 * documentation: keda.sh/docs (scaling deployments, external scalers) and kubernetes.io/docs
 * (HorizontalPodAutoscaler: algorithm details, configurable scaling behaviour).
 */
export class Autoscaler {
  readonly #options: AutoscalerOptions;
  #lastActiveSeconds = -Infinity;
  #recommended: readonly Change[] = [];
  #added: readonly Change[] = [];
  #removed: readonly Change[] = [];

  constructor(options: AutoscalerOptions) {
    this.#options = options;
  }

  /** KEDA's look: wakes the first replica, and takes the last ones when nothing was to do for long. */
  poll(atSeconds: number, replicas: number, outstanding: Outstanding): number {
    const { minReplicas, cooldownSeconds } = this.#options;
    if (isActive(outstanding)) {
      this.#lastActiveSeconds = atSeconds;
      return replicas === 0 ? Math.max(1, minReplicas) : replicas;
    }
    if (minReplicas > 0) return Math.max(replicas, minReplicas);
    return atSeconds - this.#lastActiveSeconds > cooldownSeconds ? 0 : replicas;
  }

  /** The horizontal pod autoscaler's look, which KEDA's objects keep away from zero. */
  sync(atSeconds: number, replicas: number, outstanding: Outstanding): number {
    if (replicas === 0) return 0;
    const wanted = this.#stabilize(atSeconds, replicas, this.#desired(replicas, outstanding));
    const next = this.#limit(atSeconds, replicas, wanted);
    const change = { atSeconds, replicas: Math.abs(next - replicas) };
    if (next > replicas) this.#added = [...this.#added, change];
    if (next < replicas) this.#removed = [...this.#removed, change];
    return next;
  }

  /** The most that any metric asks for; what is close enough to its target changes nothing. */
  #desired(replicas: number, outstanding: Outstanding): number {
    const { triggers, tolerance, minReplicas, maxReplicas } = this.#options;
    const wanted = triggers.flatMap(metricsOf).map(({ metricName, target }) => {
      const value = metricValue(metricName, outstanding);
      const isClose = Math.abs(value / (target * replicas) - 1) <= tolerance;
      return isClose ? replicas : Math.ceil(value / target);
    });
    return clamp(Math.max(...wanted), Math.max(1, minReplicas), maxReplicas);
  }

  /** Not below what was asked for in the window down, not above what was asked for in the window up. */
  #stabilize(atSeconds: number, replicas: number, desired: number): number {
    const { scaleUp, scaleDown } = this.#options;
    const longest = Math.max(scaleUp.stabilizationSeconds, scaleDown.stabilizationSeconds);
    const recent = this.#recommended.filter((past) => atSeconds - past.atSeconds <= longest);
    this.#recommended = [...recent, { atSeconds, replicas: desired }];
    const within = ({ stabilizationSeconds }: ScalingRules) =>
      this.#recommended
        .filter((past) => atSeconds - past.atSeconds < stabilizationSeconds)
        .map((past) => past.replicas)
        .concat(desired);
    const least = Math.min(...within(scaleUp));
    const most = Math.max(...within(scaleDown));
    return Math.min(Math.max(replicas, least), most);
  }

  #limit(atSeconds: number, replicas: number, wanted: number): number {
    const { scaleUp, scaleDown, minReplicas, maxReplicas } = this.#options;
    const startOf = ({ periodSeconds }: ScalingPolicy) => {
      const sum = (changes: readonly Change[]) =>
        changes
          .filter((change) => atSeconds - change.atSeconds < periodSeconds)
          .reduce((total, change) => total + change.replicas, 0);
      return replicas - sum(this.#added) + sum(this.#removed);
    };
    if (wanted > replicas) {
      const reach = scaleUp.policies.map((policy) => raised(policy, startOf(policy)));
      return Math.min(wanted, Math.max(replicas, ...reach), maxReplicas);
    }
    if (wanted < replicas) {
      const reach = scaleDown.policies.map((policy) => lowered(policy, startOf(policy)));
      const floor = Math.min(replicas, ...reach);
      return Math.max(wanted, floor, Math.max(1, minReplicas));
    }
    return wanted;
  }
}

function raised({ type, value }: ScalingPolicy, start: number): number {
  return type === "Pods" ? start + value : Math.ceil(start * (1 + value / 100));
}

function lowered({ type, value }: ScalingPolicy, start: number): number {
  return type === "Pods" ? start - value : Math.trunc(start * (1 - value / 100));
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}

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
  const any = { models: [], gpuDollarsPerHour: undefined };
  const jobs = { ...any, jobsPerWorker, secondsPerWorker: undefined };
  const seconds = { ...any, jobsPerWorker: undefined, secondsPerWorker };
  if (name === "both") return [jobs, seconds];
  return [name === "jobs" ? jobs : seconds];
}
