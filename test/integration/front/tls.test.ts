import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ENGINE, type Harness, startHarness } from "../../support/front-harness.js";

let folder: string;
let harness: Harness;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-tls-"));
  const [tlsCertFile, tlsKeyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const pair = `-keyout ${tlsKeyFile} -out ${tlsCertFile} -subj /CN=localhost`;
  const kind = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1";
  const args = `req -x509 ${kind} -nodes -days 1 -addext subjectAltName=IP:127.0.0.1 ${pair}`;
  await promisify(execFile)("openssl", args.split(" "));
  harness = await startHarness(ENGINE, { tlsCertFile, tlsKeyFile });
});

afterAll(async () => {
  await harness?.close();
  await rm(folder, { recursive: true, force: true });
});

it("serves HTTPS with the configured certificate, and plain HTTP not at all", async () => {
  const { front } = harness;
  const ca = await readFile(join(folder, "cert.pem"));
  const status = await new Promise((resolve, reject) => {
    request(`${front.origin}/healthz`, { ca }, ({ statusCode }) => resolve(statusCode))
      .on("error", reject)
      .end();
  });
  expect(front.baseUrl).toMatch(/^https:/);
  expect(status).toBe(200);
  await expect(fetch(`http://127.0.0.1:${front.port}/healthz`)).rejects.toThrow("fetch failed");
});
