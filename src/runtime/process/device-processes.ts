import type { Job } from "../../core/job.js";
import {
  createInferenceProcess,
  type InferenceProcessOptions,
  memoryAllowance,
} from "./process.js";
import type { InferenceHost } from "./protocol.js";

export interface DeviceProcessesOptions extends InferenceProcessOptions {
  /** Numbers of GPUs, each with a process of its own; without them there is one process, on the first GPU. */
  readonly devices: readonly number[] | undefined;
  /** What jobs compete for: each goes to the process that runs the fewest of its kind. */
  readonly kindOf: (job: Job) => string;
}

/** One inference process, or one for each device, which share the memory that they may hold. */
export function createInferenceProcesses({
  devices,
  kindOf,
  ...options
}: DeviceProcessesOptions): InferenceHost {
  if (devices === undefined) return createInferenceProcess(options);
  const allowance = (options.allowance ?? memoryAllowance()) / devices.length;
  const hosts = devices.map((device) =>
    createInferenceProcess({ ...options, allowance, setup: { ...options.setup, device } }),
  );
  return joinHosts(hosts, devices, kindOf);
}

/** Serves as one what several do. */
export function joinHosts(
  hosts: readonly InferenceHost[],
  devices: readonly number[],
  kindOf: (job: Job) => string,
): InferenceHost {
  const running = hosts.map((host) => ({ host, kinds: new Array<string>() }));
  const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);
  return {
    async ready() {
      await Promise.all(hosts.map((host) => host.ready()));
    },
    async *run(task, signal) {
      const kind = kindOf(task.job);
      const load = (kinds: readonly string[]) => kinds.filter((other) => other === kind).length;
      const [least] = running.toSorted((a, b) => load(a.kinds) - load(b.kinds));
      if (least === undefined) throw new Error("there is no inference process");
      least.kinds.push(kind);
      try {
        yield* least.host.run(task, signal);
      } finally {
        least.kinds.splice(least.kinds.indexOf(kind), 1);
      }
    },
    get processId() {
      return hosts[0]?.processId;
    },
    devices,
    get device() {
      return [...new Set(hosts.map(({ device }) => device))].filter(Boolean).join(", ");
    },
    memoryBytes: async () => sum(await Promise.all(hosts.map((host) => host.memoryBytes()))),
    get providers() {
      return hosts[0]?.providers;
    },
    get placements() {
      return hosts[0]?.placements;
    },
    get adoptions() {
      return sum(hosts.map(({ adoptions = 0 }) => adoptions));
    },
    get loadedModels() {
      return [...new Set(hosts.flatMap(({ loadedModels = [] }) => loadedModels))];
    },
    allowanceBytes: sum(hosts.map(({ allowanceBytes = 0 }) => allowanceBytes)),
    async close() {
      await Promise.all(hosts.map((host) => host.close()));
    },
  };
}
