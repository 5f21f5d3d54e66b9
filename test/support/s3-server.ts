import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Readable } from "node:stream";

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
  const script = createRequire(import.meta.url).resolve("s3rver/bin/s3rver.js");
  const args = ["--openssl-legacy-provider", script, "-d", folder, "-a", "127.0.0.1", "-p", "0"];
  const child = spawn(process.execPath, [...args, "--configure-bucket", BUCKET], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  return { endpoint: await readEndpoint(child.stdout), close: () => stop(child) };
}

/** The address that it says it listens on; what it logs afterwards is not read. */
async function readEndpoint(output: Readable): Promise<string> {
  let said = "";
  let address: string | undefined;
  while (address === undefined) {
    said += String((await once(output, "data"))[0]);
    address = /listening on (\S+)\n/.exec(said)?.[1];
  }
  return `http://${address}`;
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
