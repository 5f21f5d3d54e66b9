import { sql } from "kysely";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Database } from "./database.js";

export interface Metrics {
  readonly observeRequest: (request: {
    readonly method: string;
    readonly route: string;
    readonly status: number;
    readonly seconds: number;
  }) => void;
  /** Prometheus text. */
  readonly render: () => Promise<string>;
  readonly contentType: string;
}

interface JobCount {
  readonly model: string;
  readonly state: string;
  readonly count: number;
}

interface Ledger {
  readonly charges: number;
  readonly micro_usd: number;
  readonly gpu_ms: number;
}

/** Numbers of the ledger are read at each scrape, so every replica tells the same. */
export function createMetrics({ kysely }: Database): Metrics {
  const registers = [new Registry()];
  const jobs = new Gauge({
    name: "framemill_jobs",
    help: "Jobs in the ledger by model and state; state queued is the queue depth.",
    labelNames: ["model", "state"],
    registers,
    async collect() {
      const { rows } = await sql<JobCount>`SELECT model, state, count(*)::int AS count FROM jobs
        GROUP BY model, state`.execute(kysely);
      jobs.reset();
      for (const { model, state, count } of rows) jobs.set({ model, state }, count);
    },
  });
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  const charges = gauge("framemill_charges", "Charged jobs.");
  const charged = gauge("framemill_charged_micro_usd", "Micro-dollars charged.");
  const gpu = gauge("framemill_gpu_seconds", "GPU seconds of all attempts, charged or not.");
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
  const [registry] = registers;
  return {
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
    observeRequest({ method, route, status, seconds }) {
      requests.inc({ method, route, status });
      durations.observe({ method, route }, seconds);
    },
    async render() {
      const { rows } = await sql<Ledger>`SELECT count(*)::int AS charges,
        coalesce(sum(amount_micro_usd), 0)::bigint AS micro_usd,
        (SELECT coalesce(sum(gpu_ms), 0) FROM attempts)::bigint AS gpu_ms
        FROM charges`.execute(kysely);
      charges.set(rows[0]?.charges ?? 0);
      charged.set(rows[0]?.micro_usd ?? 0);
      gpu.set((rows[0]?.gpu_ms ?? 0) / 1_000);
      return (await registry?.metrics()) ?? "";
    },
  };
}
