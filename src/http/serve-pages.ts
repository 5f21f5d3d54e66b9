import { once } from "node:events";
import { createServer } from "node:http";
import { type ListenAddress, listenAt } from "../core/ports.js";

export interface Page {
  /** 200 unless it says otherwise. */
  readonly status?: number;
  readonly contentType?: string;
  readonly body: string;
}

export interface PagesServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface PagesOptions extends ListenAddress {
  /** By their paths. */
  readonly pages: Readonly<Record<string, () => Page | Promise<Page>>>;
  /** A page could not be made; its reader is answered with 500. */
  readonly onError: (thrown: unknown) => void;
}

/** Health and metrics on a port of their own, for probes and Prometheus, without a key. */
export async function servePages({ pages, onError, ...at }: PagesOptions): Promise<PagesServer> {
  const render = async (path = ""): Promise<Page> => {
    try {
      return (await pages[path]?.()) ?? { status: 404, body: "not found\n" };
    } catch (thrown) {
      onError(thrown);
      return { status: 500, body: "not available\n" };
    }
  };
  const server = createServer((request, response) => {
    void render(request.url).then(({ status = 200, contentType = "text/plain", body }) =>
      response.writeHead(status, { "content-type": contentType }).end(body),
    );
  });
  await listenAt(at, async (port) => {
    server.listen(port, at.host);
    await once(server, "listening");
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : at.port,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
