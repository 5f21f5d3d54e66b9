import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import {
  checkServerIdentity,
  createSecureContext,
  type PeerCertificate,
  rootCertificates,
} from "node:tls";
import { ChannelCredentials, ServerCredentials } from "@grpc/grpc-js";

/** PEM texts. On a server `ca` signs the workers' certificates (mTLS); on a worker the front's. */
export interface TlsOptions {
  readonly cert?: Buffer;
  readonly key?: Buffer;
  readonly ca?: Buffer;
  /** On a worker: a front with this very certificate is believed, whatever name it bears and whoever signed it. */
  readonly peerCert?: Buffer;
}

/** Reads PEM files; undefined when no file is named, which means no TLS. */
export async function readTlsFiles(paths: {
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  readonly caFile?: string | undefined;
  readonly peerCertFile?: string | undefined;
}): Promise<TlsOptions | undefined> {
  const [cert, key, ca, peerCert] = await Promise.all(
    [paths.certFile, paths.keyFile, paths.caFile, paths.peerCertFile].map(readIfNamed),
  );
  if (!cert && !key && !ca && !peerCert) return undefined;
  return {
    ...(cert && { cert }),
    ...(key && { key }),
    ...(ca && { ca }),
    ...(peerCert && { peerCert }),
  };
}

export function createServerCredentials(tls: TlsOptions | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  if (!tls.cert || !tls.key) throw new Error("gRPC TLS needs a certificate and its key");
  const pair = { cert_chain: tls.cert, private_key: tls.key };
  return ServerCredentials.createSsl(tls.ca ?? null, [pair], tls.ca !== undefined);
}

export function createClientCredentials(tls: TlsOptions | undefined): ChannelCredentials {
  if (tls === undefined) return ChannelCredentials.createInsecure();
  if (tls.peerCert !== undefined) return createPinnedCredentials(tls, tls.peerCert);
  return ChannelCredentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.cert ?? null);
}

/** Believes one certificate beside what the authorities sign, for the names that those bear. */
function createPinnedCredentials({ ca, cert, key }: TlsOptions, peerCert: Buffer) {
  const { raw } = new X509Certificate(peerCert);
  const context = createSecureContext({
    ca: [...(ca === undefined ? rootCertificates : [ca]), peerCert],
    // The certificate itself may end the chain; its authority need not be known.
    allowPartialTrustChain: true,
    ...(cert && { cert }),
    ...(key && { key }),
  });
  return ChannelCredentials.createFromSecureContext(context, {
    checkServerIdentity: (name: string, peer: PeerCertificate) =>
      raw.equals(peer.raw) ? undefined : checkServerIdentity(name, peer),
  });
}

async function readIfNamed(path: string | undefined): Promise<Buffer | undefined> {
  return path === undefined ? undefined : await readFile(path);
}
