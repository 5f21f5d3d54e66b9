import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type CertificateFiles, createCertificate } from "../../support/certificate.js";
import { ENGINE, type Harness, startHarness } from "../../support/front-harness.js";

let files: CertificateFiles;
let harness: Harness;

beforeAll(async () => {
  files = await createCertificate();
  const { certPath: tlsCertFile, keyPath: tlsKeyFile } = files;
  harness = await startHarness(ENGINE, { tlsCertFile, tlsKeyFile });
});

afterAll(async () => {
  await harness?.close();
  await files?.remove();
});

it("serves HTTPS with the configured certificate, and plain HTTP not at all", async () => {
  const { front } = harness;
  const ca = await readFile(files.caPath);
  const status = await new Promise((resolve, reject) => {
    request(`${front.origin}/healthz`, { ca }, ({ statusCode }) => resolve(statusCode))
      .on("error", reject)
      .end();
  });
  expect(front.baseUrl).toMatch(/^https:/);
  expect(status).toBe(200);
  await expect(fetch(`http://127.0.0.1:${front.port}/healthz`)).rejects.toThrow("fetch failed");
});
