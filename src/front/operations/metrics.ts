import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Logger } from "pino";
import type { Database } from "../ledger/index.js";
import type { Estimates } from "../jobs/index.js";
import { type AnsweredRequest, type MetricsPage, PARTS, type PartStates } from "../http/index.js";
import { listenAt } from "../../core/ports.js";
import { createLedgerMetrics } from "./ledger-metrics.js";

export interface Metrics extends MetricsPage {
  readonly observeRequest: (request: AnsweredRequest) => void;
}

/** Numbers of the ledger are read from it, so every replica tells the same. */
export function createMetrics(
  { kysely }: Database,
  estimates: Estimates,
  partStates: () => PartStates,
): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const renderLedger = createLedgerMetrics(kysely, estimates);
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

interface MetricsServerOptions {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  readonly metrics: MetricsPage;
  readonly log: Logger;
}

export interface MetricsServer {
  readonly port: number;
  readonly close: () => Promise<void>;
}

/** `/metrics` on a port of its own, which callers need not reach. */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const { metrics, log } = options;
  const server = createServer((request, response) => {
    if (request.url !== "/metrics") {
      response.writeHead(404).end("not found\n");
      return;
    }
    void metrics.render().then(
      (text) => response.writeHead(200, { "content-type": metrics.contentType }).end(text),
      (error: unknown) => {
        log.warn({ err: error }, "metrics could not be told");
        response.writeHead(500).end("not told\n");
      },
    );
  });
  const { host, port: wanted } = options;
  await listenAt({ host, port: wanted, setting: "METRICS_PORT" }, async (port) => {
    server.listen(port, host);
    await once(server, "listening");
  });
  return {
    port: portOf(server),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}
