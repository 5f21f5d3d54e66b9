import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { pino } from "pino";
import { afterAll, beforeAll, expect, it } from "vitest";
import { loadConfig } from "#framemill/config.js";
import { type Front, startFront } from "#framemill/front/front.js";
import { createEmbeddedBroker } from "#framemill/queue/embedded.js";
import { createLocalStore } from "#framemill/storage/local.js";

let folder: string;
let front: Front;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-tls-"));
  const [tlsCertFile, tlsKeyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const pair = `-keyout ${tlsKeyFile} -out ${tlsCertFile} -subj /CN=localhost`;
  const args = `req -x509 -newkey rsa:2048 -nodes -days 1 -addext subjectAltName=IP:127.0.0.1 ${pair}`;
  await promisify(execFile)("openssl", args.split(" "));
  front = await startFront({
    config: loadConfig({ dataDir: folder, tlsCertFile, tlsKeyFile, port: 0, grpcPort: 0 }, {}),
    broker: createEmbeddedBroker(),
    store: createLocalStore(join(folder, "artifacts")),
    models: [],
    log: pino({ level: "silent" }),
  });
});

afterAll(async () => {
  await front.close();
  await rm(folder, { recursive: true, force: true });
});

it("serves HTTPS with the configured certificate, and plain HTTP not at all", async () => {
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
