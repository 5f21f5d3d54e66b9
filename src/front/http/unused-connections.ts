import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/**
 * Connections that never brought a request, as browsers open ahead and clients leave behind: Node takes
 * them for busy and would wait until they time out. The function that comes back hangs them up.
 */
export function watchUnused(app: FastifyInstance): () => void {
  const unused = new Map<string, Socket>();
  app.server.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    unused.set(peer, socket);
    socket.once("close", () => unused.delete(peer));
  });
  app.server.on("request", ({ socket }: { socket: Socket }) => unused.delete(peerOf(socket)));
  return () => {
    for (const socket of unused.values()) socket.destroy();
  };
}

/** Over TLS a request's socket is another object than the connection's, with the same addresses. */
function peerOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
