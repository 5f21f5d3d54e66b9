import { readFile } from "node:fs/promises";
import { ChannelCredentials, ServerCredentials } from "@grpc/grpc-js";

/** PEM texts. On a server `ca` signs the workers' certificates (mTLS); on a worker the front's. */
export interface TlsOptions {
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly ca?: Buffer;
}

/** Reads PEM files; undefined when no file is named, which means no TLS. */
export async function readTlsFiles(paths: {
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly caFile?: string | undefined;
}): Promise<TlsOptions | undefined> {
  const [cert, key, ca] = await Promise.all(
    [paths.certFile, paths.keyFile, paths.caFile].map(readIfNamed),
  );
  if (!cert && !key && !ca) return undefined;
  return { ...(cert && { cert }), ...(key && { key }), ...(ca && { ca }) };
}

export function createServerCredentials(tls: TlsOptions | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  if (!tls.cert || !tls.key) throw new Error("gRPC TLS needs a certificate and its key");
  const pair = { cert_chain: tls.cert, private_key: tls.key };
  return ServerCredentials.createSsl(tls.ca ?? null, [pair], tls.ca !== undefined);
}

export function createClientCredentials(tls: TlsOptions | undefined): ChannelCredentials {
  if (tls === undefined) return ChannelCredentials.createInsecure();
  return ChannelCredentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.cert ?? null);
}

async function readIfNamed(path: string | undefined): Promise<Buffer | undefined> {
  return path === undefined ? undefined : await readFile(path);
}
