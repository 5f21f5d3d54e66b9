import { collectDefaultMetrics, type Registry } from "prom-client";

/** How often the delay of timers is looked at, in milliseconds: each look wakes an idle process. */
const LAG_RESOLUTION_MS = 100;

/** Memory, CPU, garbage collection and delay of the event loop of this process. */
export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_RESOLUTION_MS });
}
