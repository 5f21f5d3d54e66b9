import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { Logger } from "pino";
import { listenAt } from "../../core/ports.js";
import type { MetricsPage } from "../http/index.js";

export interface MetricsServerOptions {
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
