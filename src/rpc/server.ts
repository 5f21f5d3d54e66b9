import { once } from "node:events";
import { createServer as createTcpServer, isIP } from "node:net";
import type { handleUnaryCall, sendUnaryData, Server, ServerUnaryCall } from "@grpc/grpc-js";
import { listenAt, type ListenAddress } from "../core/ports.js";
import { toStatus } from "./status.js";
import { createServerCredentials, type TlsOptions } from "./tls.js";
import { traceparentOf } from "./trace-calls.js";

const CLOSE_GRACE_MS = 2_000;

export interface Address extends Omit<ListenAddress, "setting"> {
  readonly tls?: TlsOptions | undefined;
}

/** A handler of a unary call, given the trace it belongs to; what it throws becomes the call's status. */
export function unary<Request, Response>(
  work: (request: Request, traceparent: string | undefined) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  type Call = ServerUnaryCall<Request, Response>;
  async function answer(call: Call, callback: sendUnaryData<Response>): Promise<void> {
    try {
      callback(null, await work(call.request, traceparentOf(call.metadata)));
    } catch (error) {
      callback(toStatus(error));
    }
  }
  return (call, callback) => void answer(call, callback); // never rejects
}

/** Resolves to the port. */
export function bind(
  server: Server,
  { tls, ...address }: Address,
  setting: string,
): Promise<number> {
  const credentials = createServerCredentials(tls);
  return listenAt({ ...address, setting }, async (port) => {
    await tryPort(address.host, port);
    const name = isIP(address.host) === 6 ? `[${address.host}]` : address.host;
    return await new Promise<number>((resolve, reject) =>
      server.bindAsync(`${name}:${port}`, credentials, (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      ),
    );
  });
}

/** gRPC says why it cannot listen in prose only, and prints it; a plain server gives a code. */
async function tryPort(host: string, port: number): Promise<void> {
  if (port === 0) return;
  const server = createTcpServer().listen(port, host);
  await once(server, "listening");
  await new Promise((resolve) => server.close(resolve));
}

/** Lets running calls finish for 2 s. */
export async function shutDown(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => {
      server.forceShutdown();
      resolve();
    }, CLOSE_GRACE_MS);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
