import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { join } from "node:path";

/** The bucket that is there from the start; the keys are the server's own. */
export const BUCKET = "framemill-test";
export const S3_KEY = "S3RVER";

export interface S3Server {
  readonly endpoint: string;
  close(): Promise<void>;
}

/** A server that speaks S3, in a process of its own: its paging wants OpenSSL's legacy ciphers. */
export async function startS3Server(folder: string): Promise<S3Server> {
  await mkdir(join(folder, BUCKET), { recursive: true });
  const port = await findFreePort();
  const script = createRequire(import.meta.url).resolve("s3rver/bin/s3rver.js");
  const args = [
    "--openssl-legacy-provider",
    script,
    "-d",
    folder,
    "-a",
    "127.0.0.1",
    "-p",
    String(port),
  ];
  const child = spawn(process.execPath, [...args, "--configure-bucket", BUCKET], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  await once(child.stdout, "data");
  return { endpoint: `http://127.0.0.1:${port}`, close: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
