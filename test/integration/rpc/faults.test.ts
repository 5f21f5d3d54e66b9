import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { startReportServer } from "#framemill/rpc/report-server.js";
import { createReporter } from "#framemill/rpc/reporter.js";
import { readTlsFiles, type TlsOptions } from "#framemill/rpc/tls.js";
import {
  chunksOf,
  createCompletion,
  createFakeFront,
  type FakeFront,
  holdClock,
  textOf,
  until,
} from "../../support/rpc-harness.js";
import { startTcpProxy } from "../../support/tcp-proxy.js";

const TOKEN = "a-worker-token-of-some-length";
const lease = { jobId: "video_1", token: 7 };
const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close();
});

function keep<T extends { close(): Promise<void> }>(resource: T): T {
  open.push(resource);
  return resource;
}

describe("faults of the network", () => {
  afterEach(() => void vi.useRealTimers());

  async function startServer(front: FakeFront) {
    const own = { handlers: front, host: "127.0.0.1", port: 0, token: TOKEN };
    return keep(await startReportServer(own));
  }

  test("a silent connection ends a call at its deadline, and the stream loses no text", async () => {
    const clock = holdClock();
    const front = createFakeFront();
    const proxy = keep(await startTcpProxy((await startServer(front)).port));
    const address = `127.0.0.1:${proxy.port}`;
    const patience = { callTimeoutMs: 1_000, retryMs: 0 };
    const reporter = keep(createReporter({ address, token: TOKEN, ...patience }));
    const tell = (text: string) =>
      reporter.progress({ ...lease, fraction: 0.1, stage: "tokens", ...chunksOf(text) });
    tell("before ");
    await until(() => front.reports.length === 1);
    proxy.freeze();
    tell("during ");
    await expect(clock.hurry(reporter.heartbeat(lease, "worker-a"))).rejects.toMatchObject({
      code: "service_unavailable",
    });
    // Keepalive: 5 s to the ping, 3 s for its answer. Then the old connection is given up.
    await clock.hurryUntil(() => !reporter.connected);
    proxy.thaw();
    tell("after");
    await clock.hurryUntil(() => textOf(front.reports) === "before during after");
    // Time stands still: a busy machine cannot be too slow for the deadline.
    expect(await reporter.complete(createCompletion())).toEqual({ outcome: "recorded" });
  });

  test("a front is reached again after an outage; text is neither lost nor doubled", async () => {
    const clock = holdClock();
    const front = createFakeFront();
    const first = await startServer(front);
    const proxy = keep(await startTcpProxy(first.port));
    const reporter = keep(createReporter({ address: `127.0.0.1:${proxy.port}`, token: TOKEN }));
    reporter.progress({ ...lease, fraction: 0.1, stage: "tokens", ...chunksOf("one ") });
    await until(() => front.reports.length === 1);
    await clock.hurry(first.close());
    reporter.progress({ ...lease, fraction: 0.2, stage: "tokens", ...chunksOf("two ") });
    const completing = reporter.complete(createCompletion({ jobId: "video_2" }));
    // Half of the time for which a call tries.
    await clock.pass(5_000);
    proxy.aim((await startServer(front)).port);
    expect(await clock.hurry(completing)).toEqual({ outcome: "recorded" });
    await clock.hurryUntil(() => front.reports.length === 2);
    expect(textOf(front.reports)).toBe("one two ");
  });

  test("text is neither lost nor doubled through resets", async () => {
    const front = createFakeFront();
    const proxy = keep(await startTcpProxy((await startServer(front)).port));
    const reporter = keep(createReporter({ address: `127.0.0.1:${proxy.port}`, token: TOKEN }));
    let sent = "";
    for (let step = 0; step < 250; step++) {
      const text = `${step} `;
      sent += text;
      reporter.progress({ ...lease, fraction: step / 250, stage: "tokens", ...chunksOf(text) });
      if (step % 50 === 25) await proxy.cut().then(() => proxy.restore());
      else if (step % 50 === 49) await until(() => textOf(front.reports).length >= sent.length);
      else await nextTurn();
    }
    expect(textOf(front.reports)).toBe(sent);
  });

  test("an absent front is service_unavailable at the deadline", async () => {
    const reporter = keep(createReporter({ address: "127.0.0.1:1", token: TOKEN, retryMs: 500 }));
    await expect(reporter.claim("video_1", "worker-a")).rejects.toMatchObject({
      code: "service_unavailable",
    });
    await expect(reporter.ready(200)).rejects.toMatchObject({ code: "service_unavailable" });
    expect(reporter.connected).toBe(false);
  });

  test("close ends calls that wait for the front", async () => {
    const reporter = createReporter({ address: "127.0.0.1:1", token: TOKEN, retryMs: 60_000 });
    const claim = reporter.claim("video_1", "worker-a").catch((error: unknown) => error);
    await reporter.close();
    expect(await claim).toMatchObject({ code: "service_unavailable" });
  });

  test("a server closes although a worker's stream is open", async () => {
    const front = createFakeFront();
    const server = await startReportServer({
      handlers: front,
      host: "127.0.0.1",
      port: 0,
      token: TOKEN,
    });
    const address = `127.0.0.1:${server.port}`;
    const reporter = keep(createReporter({ address, token: TOKEN, callTimeoutMs: 100 }));
    reporter.progress({ ...lease, fraction: 0.1, stage: "steps", ...chunksOf("x") });
    await until(() => front.reports.length === 1);
    await server.close();
    await expect(reporter.heartbeat(lease, "worker-a")).rejects.toMatchObject({
      code: "service_unavailable",
    });
  });
});

describe("TLS", () => {
  let folder: string;
  let front: TlsOptions;
  let worker: TlsOptions;
  let stranger: TlsOptions;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "framemill-tls-"));
    makeAuthority("ca");
    makeAuthority("other-ca");
    front = await makeCertificate("front", "ca");
    worker = await makeCertificate("worker", "ca");
    stranger = await makeCertificate("stranger", "other-ca");
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const path = (name: string) => join(folder, name);
  const openssl = (...rest: string[]) => execFileSync("openssl", rest, { stdio: "pipe" });
  const keyOptions = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];

  function makeAuthority(name: string): void {
    openssl(
      "req",
      "-x509",
      ...keyOptions,
      "-days",
      "2",
      "-subj",
      `/CN=${name}`,
      "-keyout",
      path(`${name}.key`),
      "-out",
      path(`${name}.pem`),
    );
  }

  async function makeCertificate(
    name: string,
    authority: string,
    names = "DNS:localhost,IP:127.0.0.1",
  ): Promise<TlsOptions> {
    openssl(
      "req",
      ...keyOptions,
      "-subj",
      `/CN=${name}`,
      "-keyout",
      path(`${name}.key`),
      "-out",
      path(`${name}.csr`),
    );
    writeFileSync(path(`${name}.ext`), `subjectAltName=${names}\n`);
    openssl(
      "x509",
      "-req",
      "-in",
      path(`${name}.csr`),
      "-CA",
      path(`${authority}.pem`),
      "-CAkey",
      path(`${authority}.key`),
      "-CAcreateserial",
      "-days",
      "2",
      "-extfile",
      path(`${name}.ext`),
      "-out",
      path(`${name}.pem`),
    );
    const files = {
      certFile: path(`${name}.pem`),
      keyFile: path(`${name}.key`),
      caFile: path("ca.pem"),
    };
    return (await readTlsFiles(files)) ?? {};
  }

  function connect(port: number, tls: TlsOptions | undefined, serverName?: string) {
    return keep(
      createReporter({
        address: `localhost:${port}`,
        tls,
        serverName,
        token: TOKEN,
        retryMs: 0,
        callTimeoutMs: 60_000,
      }),
    );
  }

  test("readTlsFiles finds nothing where nothing is named", async () => {
    expect(await readTlsFiles({})).toBeUndefined();
  });

  test("a front is verified by the name in its certificate, whatever its address", async () => {
    const { ca: _, ...tls } = await makeCertificate("pods", "ca", "DNS:framemill-front");
    const options = { handlers: createFakeFront(), host: "localhost", port: 0, token: TOKEN, tls };
    const server = keep(await startReportServer(options));
    const { ca } = worker;
    const named = connect(server.port, ca && { ca }, "framemill-front");
    const unnamed = connect(server.port, ca && { ca });
    expect(await named.complete(createCompletion())).toEqual({ outcome: "recorded" });
    await expect(unnamed.claim("a", "b")).rejects.toMatchObject({ code: "service_unavailable" });
  });

  test("a worker that trusts the authority is served, one that does not refuses the front", async () => {
    const { ca: _, ...tls } = front;
    const options = { handlers: createFakeFront(), host: "localhost", port: 0, token: TOKEN, tls };
    const { port } = keep(await startReportServer(options));
    const ca = readFileSync(path("ca.pem"));
    const otherCa = readFileSync(path("other-ca.pem"));
    expect(await connect(port, { ca }).complete(createCompletion())).toEqual({
      outcome: "recorded",
    });
    await expect(connect(port, { ca: otherCa }).claim("a", "b")).rejects.toMatchObject({
      code: "service_unavailable",
    });
    await expect(connect(port, undefined).claim("a", "b")).rejects.toMatchObject({
      code: "service_unavailable",
    });
  });

  test("mTLS serves a worker with a signed certificate and nobody else", async () => {
    const handlers = createFakeFront();
    const { port } = keep(
      await startReportServer({ handlers, host: "localhost", port: 0, token: TOKEN, tls: front }),
    );
    expect(await connect(port, worker).complete(createCompletion())).toEqual({
      outcome: "recorded",
    });
    const ca = readFileSync(path("ca.pem"));
    const refused = { code: "service_unavailable" };
    await expect(connect(port, stranger).complete(createCompletion())).rejects.toMatchObject(
      refused,
    );
    await expect(connect(port, { ca }).complete(createCompletion())).rejects.toMatchObject(refused);
    expect(handlers.calls).toHaveLength(1);
  });
});
