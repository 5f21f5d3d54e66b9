import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export interface CertificateFiles {
  readonly certPath: string;
  readonly keyPath: string;
  /** Of the authority that signed the certificate; the certificate itself where it signed itself. */
  readonly caPath: string;
  readonly remove: () => Promise<void>;
}

const CURVE = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

async function openssl(args: string): Promise<void> {
  await promisify(execFile)("openssl", args.split(" "));
}

/** A certificate for 127.0.0.1 that signs itself. */
export async function createCertificate(): Promise<CertificateFiles> {
  const { certPath, keyPath, remove } = await makePaths();
  const names = "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1";
  await openssl(`req -x509 ${CURVE} -days 1 ${names} -keyout ${keyPath} -out ${certPath}`);
  return { certPath, keyPath, caPath: certPath, remove };
}

/** A certificate for another machine, signed by an authority of its own. */
export async function createForeignCertificate(): Promise<CertificateFiles> {
  const { folder, ...files } = await makePaths();
  const { certPath, keyPath } = files;
  const [caPath, caKey, csr] = ["ca.pem", "ca-key.pem", "csr.pem"].map((it) => join(folder, it));
  await openssl(`req -x509 ${CURVE} -days 1 -subj /CN=authority -keyout ${caKey} -out ${caPath}`);
  await openssl(`req ${CURVE} -subj /CN=clips.example -keyout ${keyPath} -out ${csr}`);
  const signer = `-CA ${caPath} -CAkey ${caKey} -CAcreateserial`;
  await openssl(`x509 -req -in ${csr} ${signer} -days 1 -out ${certPath}`);
  return { ...files, caPath: caPath ?? "" };
}

async function makePaths() {
  const folder = await mkdtemp(join(tmpdir(), "framemill-tls-"));
  return {
    folder,
    certPath: join(folder, "cert.pem"),
    keyPath: join(folder, "key.pem"),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
