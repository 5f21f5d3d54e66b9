import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startReportServer } from "#framemill/rpc/report-server.js";
import { createReporter } from "#framemill/rpc/reporter.js";
import { readTlsFiles, type TlsOptions } from "#framemill/rpc/tls.js";
import {
  chunksOf,
  createCompletion,
  createFakeFront,
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
  test("a black hole ends a call at its deadline, and the stream loses no text", async () => {
    const front = createFakeFront();
    const server = keep(
      await startReportServer({ handlers: front, host: "127.0.0.1", port: 0, token: TOKEN }),
    );
    const proxy = keep(await startTcpProxy(server.port));
    const reporter = keep(
      createReporter({
        address: `127.0.0.1:${proxy.port}`,
        token: TOKEN,
        callTimeoutMs: 1_000,
        retryMs: 0,
      }),
    );
    reporter.progress({ ...lease, fraction: 0.1, stage: "tokens", ...chunksOf("before ") });
    await until(() => front.reports.length === 1);
    proxy.freeze();
    reporter.progress({ ...lease, fraction: 0.2, stage: "tokens", ...chunksOf("during ") });
    const startedAt = performance.now();
    await expect(reporter.heartbeat(lease, "worker-a")).rejects.toMatchObject({
      code: "service_unavailable",
    });
    expect(performance.now() - startedAt).toBeLessThan(2_600);
    // Keepalive: 5 s to the ping, 3 s for its answer. Then the old connection is given up.
    await new Promise((resolve) => setTimeout(resolve, 9_000));
    proxy.thaw();
    const thawedAt = performance.now();
    reporter.progress({ ...lease, fraction: 0.3, stage: "tokens", ...chunksOf("after") });
    await until(() => textOf(front.reports) === "before during after", 5_000);
    expect(performance.now() - thawedAt).toBeLessThan(3_500);
    expect(await reporter.complete(createCompletion())).toEqual({ outcome: "recorded" });
  });

  test("a front that was away is found again within 3 s; text is neither lost nor doubled", async () => {
    const front = createFakeFront();
    const first = await startReportServer({
      handlers: front,
      host: "127.0.0.1",
      port: 0,
      token: TOKEN,
    });
    const { port } = first;
    const reporter = keep(createReporter({ address: `127.0.0.1:${port}`, token: TOKEN }));
    reporter.progress({ ...lease, fraction: 0.1, stage: "tokens", ...chunksOf("one ") });
    await until(() => front.reports.length === 1);
    await first.close();
    reporter.progress({ ...lease, fraction: 0.2, stage: "tokens", ...chunksOf("two ") });
    const completing = reporter.complete(createCompletion({ jobId: "video_2" }));
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    keep(await startReportServer({ handlers: front, host: "127.0.0.1", port, token: TOKEN }));
    const openedAt = performance.now();
    expect(await completing).toEqual({ outcome: "recorded" });
    expect(performance.now() - openedAt).toBeLessThan(3_500);
    await until(() => front.reports.length === 2, 4_000);
    expect(textOf(front.reports)).toBe("one two ");
  });

  test("text is neither lost nor doubled through ten resets", async () => {
    const front = createFakeFront();
    const server = keep(
      await startReportServer({ handlers: front, host: "127.0.0.1", port: 0, token: TOKEN }),
    );
    const proxy = keep(await startTcpProxy(server.port));
    const reporter = keep(createReporter({ address: `127.0.0.1:${proxy.port}`, token: TOKEN }));
    let sent = "";
    for (let step = 0; step < 500; step++) {
      const text = `${step} `;
      sent += text;
      reporter.progress({ ...lease, fraction: step / 500, stage: "tokens", ...chunksOf(text) });
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (step % 50 === 25) await proxy.cut().then(() => proxy.restore());
    }
    await until(() => textOf(front.reports).length >= sent.length, 10_000);
    expect(textOf(front.reports)).toBe(sent);
  });

  test("an absent front is service_unavailable when the time is up", async () => {
    const reporter = keep(createReporter({ address: "127.0.0.1:1", retryMs: 500 }));
    const startedAt = performance.now();
    await expect(reporter.claim("video_1", "worker-a")).rejects.toMatchObject({
      code: "service_unavailable",
    });
    await expect(reporter.ready(200)).rejects.toMatchObject({ code: "service_unavailable" });
    expect(reporter.connected).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });

  test("close ends calls that wait for the front", async () => {
    const reporter = createReporter({ address: "127.0.0.1:1", retryMs: 60_000 });
    const claim = reporter.claim("video_1", "worker-a").catch((error: unknown) => error);
    await reporter.close();
    expect(await claim).toMatchObject({ code: "service_unavailable" });
  });

  test("a server closes in time although a worker's stream is open", async () => {
    const front = createFakeFront();
    const server = await startReportServer({ handlers: front, host: "127.0.0.1", port: 0 });
    const reporter = keep(createReporter({ address: `127.0.0.1:${server.port}` }));
    reporter.progress({ ...lease, fraction: 0.1, stage: "steps", ...chunksOf("x") });
    await until(() => front.reports.length === 1);
    const startedAt = performance.now();
    await server.close();
    expect(performance.now() - startedAt).toBeLessThan(3_000);
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
        callTimeoutMs: 1_500,
      }),
    );
  }

  test("readTlsFiles finds nothing where nothing is named", async () => {
    expect(await readTlsFiles({})).toBeUndefined();
  });

  test("a front is taken for the name that its certificate bears, wherever it is called", async () => {
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
      await startReportServer({ handlers, host: "localhost", port: 0, tls: front }),
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
