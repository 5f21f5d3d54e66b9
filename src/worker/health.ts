import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { Registry } from "prom-client";
import { listenAt, type ListenAddress } from "../core/ports.js";
import type { WorkerStatus } from "../core/reports.js";
import type { Obstacles } from "./fitness.js";

export type WorkerHealth = WorkerStatus["state"];

export interface HealthOptions extends Omit<ListenAddress, "setting"> {
  readonly state: () => WorkerHealth;
  readonly obstacles: Obstacles;
  readonly registry: Registry;
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/** `/healthz` (the process lives), `/readyz` (it takes or runs jobs) and `/metrics`. */
export async function startHealthServer(options: HealthOptions): Promise<HealthServer> {
  const server = createServer((request, response) => {
    if (request.url === "/metrics") void sendMetrics(options.registry, response);
    else if (request.url === "/readyz") sendState(response, options);
    else if (request.url === "/healthz") send(response, 200, "ok\n");
    else send(response, 404, "not found\n");
  });
  await listenAt({ ...options, setting: "WORKER_PORT" }, async (port) => {
    server.listen(port, options.host);
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

async function sendMetrics(registry: Registry, response: ServerResponse): Promise<void> {
  response.setHeader("content-type", registry.contentType);
  send(response, 200, await registry.metrics());
}

function sendState(response: ServerResponse, options: HealthOptions): void {
  const state = options.state();
  const reasons = Object.entries(options.obstacles).map(([part, why]) => `${part}: ${why}\n`);
  const isReady = state === "ready" || state === "busy";
  send(response, isReady ? 200 : 503, `${state}\n${reasons.join("")}`);
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status);
  response.end(body);
}
