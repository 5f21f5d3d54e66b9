import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Database } from "../ledger/index.js";
import type { Estimates } from "../jobs/index.js";
import { type AnsweredRequest, type MetricsPage, PARTS, type PartStates } from "../http/index.js";
import { createLedgerMetrics } from "./ledger-metrics.js";

export interface Metrics extends MetricsPage {
  readonly observeRequest: (request: AnsweredRequest) => void;
}

/** Numbers of the ledger are read from it, so every replica tells the same. */
export function createMetrics(
  db: Database,
  estimates: Estimates,
  partStates: () => PartStates,
): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const renderLedger = createLedgerMetrics(db, estimates);
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: "framemill_http_requests_total",
    help: "Answers by method, route and status.",
    labelNames: ["method", "route", "status"],
    registers,
  });
  const durations = new Histogram({
    name: "framemill_http_seconds",
    help: "Time to answer by method and route.",
    labelNames: ["method", "route"],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 60],
    registers,
  });
  const partUp: Gauge<"part"> = new Gauge({
    name: "framemill_part_up",
    help: "1 while this front can use a part that only some requests need, 0 otherwise.",
    labelNames: ["part"],
    registers,
    collect() {
      const states = partStates();
      for (const part of PARTS) partUp.set({ part }, states[part] === "ok" ? 1 : 0);
    },
  });
  return {
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
    observeRequest({ method, route, status, seconds }) {
      requests.inc({ method, route, status });
      durations.observe({ method, route }, seconds);
    },
    async render() {
      const parts = [registry.metrics(), renderLedger()];
      return (await Promise.all(parts)).join("\n");
    },
  };
}
