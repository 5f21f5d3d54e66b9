import { collectDefaultMetrics, Gauge, type Registry } from "prom-client";

/** Time between two looks at how late timers are, in milliseconds: each wakes an idle process. */
const RESOLUTION_MS = 100;
const DELAYS = ["min", "max", "mean", "p50", "p90", "p99"];

/** Memory, CPU, garbage collection and delay of the event loop of this process. */
export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: RESOLUTION_MS });
  const lag = registry.getSingleMetric("nodejs_eventloop_lag_seconds");
  const delays = DELAYS.map((name) =>
    registry.getSingleMetric(`nodejs_eventloop_lag_${name}_seconds`),
  ).filter((gauge) => gauge instanceof Gauge);
  if (!collects(lag)) throw new Error("prom-client collects the event loop's lag no more");
  const collect = lag.collect.bind(lag);
  // What Node gives is the time from look to look: the delay is what of it exceeds the resolution.
  lag.collect = () => {
    collect();
    for (const gauge of delays) gauge.dec(RESOLUTION_MS / 1_000);
  };
}

function collects(metric: unknown): metric is { collect: () => void } {
  return metric instanceof Gauge && "collect" in metric && typeof metric.collect === "function";
}
