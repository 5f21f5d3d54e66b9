import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type Server } from "node:tls";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, createLedger, type Ledger, SOON } from "../../support/front-harness.js";
import { getAmqpUrl } from "../../support/queue-harness.js";
import {
  environmentOf,
  runCommand,
  type Running,
  startProcess,
} from "../../support/service-harness.js";

const run = promisify(execFile);
const dist = (path: string) => fileURLToPath(new URL(`../../../dist/${path}`, import.meta.url));
const PROMPT = "zebra quartz marmalade";

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "framemill-secrecy-"))));
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("a service that logs all it can", () => {
  let ledger: Ledger;
  let service: Running;
  let baseUrl: string;
  let key: string;
  const calls = () => readFile(join(folder, "calls"), "utf8");

  beforeAll(async () => {
    const ffmpeg = join(folder, "ffmpeg");
    const note = `ps -o pid=,pgid= -p $$ >> '${folder}/calls'; echo "$@" >> '${folder}/calls'`;
    await writeFile(ffmpeg, `#!/bin/sh\n${note}\nexec ffmpeg "$@"\n`);
    await chmod(ffmpeg, 0o755);
    const MODELS = "service-voice-1,service-music-1,service-moderate-1";
    ledger = await createLedger();
    const own = { MODELS, FFMPEG_PATH: ffmpeg, LOG_LEVEL: "trace" };
    const env = environmentOf(folder, { ...ledger.environment, ...own });
    service = startProcess("up", env);
    [, baseUrl = ""] = await service.says(/address +(\S+)\n/);
    key = (await runCommand(["keys", "create"], env)).trim();
  });
  afterAll(async () => {
    await service?.stop("SIGTERM");
    await ledger?.drop();
  });

  it("writes neither keys nor prompts, and passes no prompt to ffmpeg", async () => {
    const wrong = `fm_${"0".repeat(43)}`;
    const speech = { model: "service-voice-1", input: `${PROMPT}.`, voice: "alloy" };
    const answers = [
      await call(`${baseUrl}/audio/speech`, { key, body: { ...speech, response_format: "mp3" } }),
      await call(`${baseUrl}/moderations`, { key, body: { input: PROMPT } }),
      await call(`${baseUrl}/moderations`, { key: wrong, body: { input: PROMPT } }),
      await call(`${baseUrl}/audio/speech`, { key, body: { ...speech, voice: PROMPT } }),
      await call(`${baseUrl}/moderations`, { key, body: `{"input":"${PROMPT}` }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 401, 400, 400]);
    const music = { model: "service-music-1", prompt: PROMPT, seconds: 1 };
    const { json } = await call(`${baseUrl}/music`, { key, body: music });
    const state = async () =>
      (await call(`${baseUrl}/music/${json.id}?wait=30`, { key })).json.status;
    await expect.poll(state, SOON).toBe("completed");

    const said = service.output();
    expect(said).toContain('"msg":"answered"');
    expect(said).toContain('"msg":"job ended"');
    for (const secret of [...PROMPT.split(" "), key, wrong]) expect(said).not.toContain(secret);
    const lines = (await calls()).trim().split("\n");
    expect(lines.length).toBeGreaterThanOrEqual(4);
    for (const word of PROMPT.split(" ")) expect(lines.join("\n")).not.toContain(word);
    const groups = lines.flatMap((line) => /^\s*(\d+)\s+(\d+)$/.exec(line)?.slice(1, 3) ?? []);
    const leaders = groups.filter((_, index) => index % 2 === 1);
    expect(leaders).toEqual(groups.filter((_, index) => index % 2 === 0));
  });
});

describe("the broker's address", () => {
  let proxy: Server;
  let certPath: string;
  beforeAll(async () => {
    certPath = join(folder, "cert.pem");
    const keyPath = join(folder, "key.pem");
    const pair = `-keyout ${keyPath} -out ${certPath} -subj /CN=localhost`;
    const kind = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1";
    const args = `req -x509 ${kind} -nodes -days 1 -addext subjectAltName=IP:127.0.0.1 ${pair}`;
    await run("openssl", args.split(" "));
    const { hostname, port } = new URL(getAmqpUrl());
    const [cert, key] = await Promise.all([readFile(certPath), readFile(keyPath)]);
    proxy = createServer({ cert, key }, (client) => {
      const target = connectTcp(Number(port), hostname);
      client.pipe(target).pipe(client);
      for (const socket of [client, target]) socket.on("error", () => client.destroy());
    });
    proxy.on("tlsClientError", () => undefined);
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => void proxy?.close());

  /** What a process of its own says once it has got through to the broker, or why it does not. */
  async function connect(url: URL, environment: Record<string, string> = {}): Promise<string> {
    const script = `const { openBroker } = await import(process.env.MODULE);
      const say = (word) => process.stdout.write(word, () => process.exit());
      await openBroker({ amqpUrl: process.env.URL, connectTimeoutMs: 60_000, onEvent(event) {
        if (event.type === "channel-open") say("connected");
        if (event.type === "connection-failed") say(String(event.cause));
      } });`;
    const env = {
      ...process.env,
      MODULE: dist("queue/index.js"),
      URL: url.href,
      ...environment,
    };
    const args = ["--input-type=module", "-e", script];
    return (await run(process.execPath, args, { env })).stdout;
  }

  it("may be amqps, whose certificate must be trusted, and its password must be right", async () => {
    const url = new URL(getAmqpUrl());
    const secure = new URL(url.href.replace(/^amqp:/, "amqps:"));
    secure.hostname = "127.0.0.1";
    secure.port = String((proxy.address() as AddressInfo).port);
    const wrong = new URL(url);
    wrong.password = "not-the-password";
    const answers = await Promise.all([
      connect(url),
      connect(secure, { NODE_EXTRA_CA_CERTS: certPath }),
      connect(secure),
      connect(wrong),
    ]);
    expect(answers).toEqual([
      "connected",
      "connected",
      expect.stringContaining("self-signed certificate"),
      expect.stringContaining("ACCESS_REFUSED"),
    ]);
  });
});
