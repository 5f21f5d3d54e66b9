import { connect, createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

/** A TCP proxy that fails on demand. It keeps its port: another process could take a free one. */
export interface TcpProxy {
  readonly port: number;
  /** Resets every connection and whoever comes, as a dead host's kernel would. */
  cut(): Promise<void>;
  /** Lets connections through again. */
  restore(): Promise<void>;
  /** Lets connections through to another port from now on. */
  aim(targetPort: number): void;
  /** Holds every byte back but keeps connections and port open: a partition, to TCP. */
  freeze(): void;
  /** Lets the held bytes through, late, as retransmission does. */
  thaw(): void;
  close(): Promise<void>;
}

export async function startTcpProxy(
  targetPort: number,
  targetHost = "127.0.0.1",
  ownHost = "127.0.0.1",
): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let aimedAt = targetPort;
  let isCut = false;
  let isFrozen = false;

  function join(client: Socket): void {
    if (isCut) {
      client.on("error", () => client.destroy()).resetAndDestroy();
      return;
    }
    const target = connect(aimedAt, targetHost);
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => to.write(bytes));
      if (isFrozen) from.pause();
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  }

  async function cut(): Promise<void> {
    isCut = true;
    const closed = [...sockets].map(
      (socket) => new Promise((resolve) => socket.once("close", resolve)),
    );
    for (const socket of sockets) socket.resetAndDestroy();
    await Promise.all(closed);
  }

  function freeze(hold: boolean): void {
    isFrozen = hold;
    for (const socket of sockets) {
      if (hold) socket.pause();
      else socket.resume();
    }
  }

  const server = createServer({ noDelay: true }, join);
  await new Promise<void>((resolve) => server.listen(0, ownHost, resolve));
  // It listens on a port.
  const { port } = server.address() as AddressInfo;
  return {
    port,
    cut,
    restore: async () => void (isCut = false),
    aim: (otherPort) => void (aimedAt = otherPort),
    freeze: () => freeze(true),
    thaw: () => freeze(false),
    async close() {
      await cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
