import { connect, createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

/** A TCP proxy that fails on demand. */
export interface TcpProxy {
  readonly port: number;
  /** Closes the port and resets every connection, as a dead host's kernel would. */
  cut(): Promise<void>;
  /** Opens the port again, with the same number. */
  restore(): Promise<void>;
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
  let frozen = false;
  let server: Server | null = null;
  let port = 0;

  function join(client: Socket): void {
    const target = connect(targetPort, targetHost);
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => to.write(bytes));
      if (frozen) from.pause();
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  }

  async function restore(): Promise<void> {
    const listening = createServer({ noDelay: true }, join);
    await new Promise<void>((resolve) => listening.listen(port, ownHost, resolve));
    port = (listening.address() as AddressInfo).port;
    server = listening;
  }

  async function cut(): Promise<void> {
    const closed = new Promise((resolve) => server?.close(resolve));
    for (const socket of sockets) socket.resetAndDestroy();
    await closed;
  }

  await restore();
  function freeze(hold: boolean): void {
    frozen = hold;
    for (const socket of sockets) {
      if (hold) socket.pause();
      else socket.resume();
    }
  }

  return {
    get port() {
      return port;
    },
    cut,
    restore,
    freeze: () => freeze(true),
    thaw: () => freeze(false),
    close: cut,
  };
}
