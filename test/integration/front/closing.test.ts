import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterEach, expect, it } from "vitest";
import { call, ENGINE, type Harness, startHarness } from "../../support/front-harness.js";
import { createCertificate, type CertificateFiles } from "../../support/certificate.js";

let harness: Harness;
let files: CertificateFiles | undefined;
afterEach(async () => {
  await harness?.close();
  await files?.remove();
  files = undefined;
});

/** What a connection brings until it ends. */
async function bytesOf(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  await once(socket, "close");
  return text;
}

// One that timed out instead would bring a 408.
it("closes idle connections when the front stops", async () => {
  harness = await startHarness();
  const socket = connectTcp(harness.front.port, "127.0.0.1");
  await once(socket, "connect");
  // The front has taken it once it has answered another that came later.
  await fetch(`${harness.front.origin}/healthz`);
  const [text] = await Promise.all([bytesOf(socket), harness.front.close()]);
  expect(text).toBe("");
});

it("closes idle TLS connections, before and after the handshake", async () => {
  files = await createCertificate();
  const { certPath, keyPath } = files;
  harness = await startHarness(ENGINE, { tlsCertFile: certPath, tlsKeyFile: keyPath });
  const { port } = harness.front;
  const before = connectTcp(port, "127.0.0.1");
  await once(before, "connect");
  const ca = await readFile(certPath);
  const after = connectTls({ port, host: "127.0.0.1", ca });
  await once(after, "secureConnect");
  const [texts] = await Promise.all([
    Promise.all([bytesOf(before), bytesOf(after)]),
    harness.front.close(),
  ]);
  expect(texts).toEqual(["", ""]);
});

it("is ready only while its own worker is, where it has one", async () => {
  harness = await startHarness();
  const front = await harness.startReplica({ hasOwnWorker: true });
  const readiness = async () => {
    const { status, json } = await call(`${front.origin}/readyz`);
    return [status, (json as { reasons?: string[] }).reasons];
  };
  expect(await readiness()).toEqual([503, ["worker: none has reported"]]);
  const worker = {
    workerId: "own",
    models: [],
    slots: 1,
    device: "CPU",
    memoryBytes: 1,
    nanoUsdPerHour: 0,
    uptimeMs: 0,
    startingMs: 0,
    busyMs: 0,
    running: 0,
  };
  await front.handlers.announce({ ...worker, state: "ready" });
  expect(await readiness()).toEqual([200, undefined]);
  await front.handlers.announce({ ...worker, state: "stopped" });
  expect(await readiness()).toEqual([503, ["worker: stopped"]]);
});
