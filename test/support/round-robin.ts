import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream/promises";

export interface RoundRobin {
  readonly url: string;
  /** Requests that each upstream answered. */
  readonly answered: readonly number[];
  close(): Promise<void>;
}

/** A balancer that gives each request to the next upstream, and to the one after where that is away. */
export async function startRoundRobin(upstreams: readonly URL[]): Promise<RoundRobin> {
  const answered = upstreams.map(() => 0);
  let turn = 0;
  const forward = async (incoming: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const body = await readAll(incoming);
    turn += 1;
    for (let offset = 0; offset < upstreams.length; offset += 1) {
      const index = (turn + offset) % upstreams.length;
      const answer = await send(incoming, body, upstreams[index]).catch(() => undefined);
      if (answer === undefined) continue;
      answered[index] = (answered[index] ?? 0) + 1;
      reply.writeHead(answer.statusCode ?? 502, answer.headers);
      return await pipeline(answer, reply);
    }
    reply.writeHead(502).end();
  };
  const server = createServer((incoming, reply) => {
    forward(incoming, reply).catch(() => reply.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  // It listens on a port.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    answered,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

async function readAll(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

async function send(
  { method, url = "", headers }: IncomingMessage,
  body: Buffer,
  upstream: URL | undefined,
): Promise<IncomingMessage> {
  return await new Promise((resolve, reject) => {
    const target = new URL(url, upstream);
    const sent = request(target, { method, headers: { ...headers, host: target.host } }, resolve);
    sent.on("error", reject);
    sent.end(body);
  });
}
