import { isIP } from "node:net";
import type { handleUnaryCall, sendUnaryData, Server, ServerUnaryCall } from "@grpc/grpc-js";
import { toStatus } from "./status.js";
import { createServerCredentials, type TlsOptions } from "./tls.js";
import { traceparentOf } from "./trace-calls.js";

const CLOSE_GRACE_MS = 2_000;

export interface Address {
  readonly host: string;
  /** 0 = any free one. */
  readonly port: number;
  readonly tls?: TlsOptions | undefined;
}

/** A handler of one answer, told of the trace it belongs to; what it throws travels as its status. */
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
export function bind(server: Server, { host, port, tls }: Address): Promise<number> {
  const address = isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
  return new Promise((resolve, reject) =>
    server.bindAsync(address, createServerCredentials(tls), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  );
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
