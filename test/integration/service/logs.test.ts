import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { call, createPostgres, dropPostgres } from "../../support/front-harness.js";
import { getAmqpUrl } from "../../support/queue-harness.js";
import { BUCKET, S3_KEY, type S3Server, startS3Server } from "../../support/s3-server.js";
import {
  cli,
  environmentOf,
  runCommand,
  type Running,
  startProcess,
  startProgram,
} from "../../support/service-harness.js";

/** Run before a process's own code: warns as libraries do, once Node would not print it any more. */
const WARNING = `if (/(framemill|inference-process).js$/.test(process.argv[1])) {
  const timer = setInterval(() => {
    if (process.listeners("warning").some(({ name }) => name === "onWarning")) return;
    process.emitWarning("a library's word");
    clearInterval(timer);
  }, 20).unref();
}`;

let folder: string;
let databaseUrl: string;
let s3: S3Server;
const started: Running[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-logs-"));
  databaseUrl = await createPostgres();
  s3 = await startS3Server(join(folder, "s3"));
});
afterAll(async () => {
  for (const running of started) await running.stop("SIGKILL");
  await s3?.close();
  await dropPostgres(databaseUrl);
  await rm(folder, { recursive: true, force: true });
});

it("are lines of JSON with every name once, warnings of libraries among them", async () => {
  const env = environmentOf(join(folder, "data"), {
    AMQP_URL: getAmqpUrl(),
    DATABASE_URL: databaseUrl,
    S3_BUCKET: BUCKET,
    S3_ENDPOINT: s3.endpoint,
    S3_ACCESS_KEY_ID: S3_KEY,
    S3_SECRET_ACCESS_KEY: S3_KEY,
    MODELS: "service-embed-1",
    LOG_LEVEL: "trace",
    NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(WARNING)}`,
  });
  const front = startProcess("front", env);
  started.push(front);
  const [, baseUrl = "", port = ""] = await front.says(/"baseUrl":"([^"]+)","grpcPort":(\d+)/);
  const worker = startProcess("worker", { ...env, FRONT_ADDRESS: `127.0.0.1:${port}` });
  started.push(worker);
  await worker.says(/worker ready/);
  const key = (await runCommand(["keys", "create"], env)).trim();
  const body = { model: "service-embed-1", input: "boat" };
  expect((await call(`${baseUrl}/embeddings`, { key, body })).status).toBe(200);
  for (const running of [worker, front]) await running.stop("SIGTERM");
  for (const [running, name] of [
    [front, "framemill-front"],
    [worker, "framemill-worker"],
  ] as const) {
    const lines = running.output().trim().split("\n");
    // A name that came twice would be there once when the line is written again.
    for (const line of lines) expect(JSON.stringify(JSON.parse(line))).toBe(line);
    const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const events = records.filter(({ msg }) => msg === "broker");
    expect(events.length).toBeGreaterThan(1);
    expect(events[0]).toMatchObject({ name, connection: expect.stringContaining(" publish") });
    const names = name === "framemill-worker" ? [name, "framemill-inference"] : [name];
    for (const each of names) {
      const warning = { name: each, reason: "a library's word" };
      expect(records).toContainEqual(expect.objectContaining(warning));
    }
  }
});

it("are lines for a person on a terminal, and end in links to the pages", async () => {
  const dataDir = join(folder, "terminal");
  const env = environmentOf(dataDir, { MODELS: "service-embed-1", NO_COLOR: "1" });
  // util-linux's: what it runs has a terminal.
  const up = startProgram(["script", "-qefc", `${process.execPath} ${cli} up`, "/dev/null"], env);
  started.push(up);
  const [, page = ""] = await up.says(/playground +(\S+)\r?\n/);
  const output = up.output();
  expect(output).toMatch(/^\d\d:\d\d:\d\d {2}opening the database\r?$/m);
  expect(output).toMatch(/^\d\d:\d\d:\d\d {2}model loaded .*model service-embed-1 .*\d\.\d s/m);
  expect(output).not.toContain('{"');
  expect(output).toContain(`/operations (its key: ${join(dataDir, "admin.key")})`);
  const { pathname, hash } = new URL(page);
  expect([pathname, hash]).toEqual(["/playground", expect.stringMatching(/^#key=fm_\w{43}$/)]);
  expect((await fetch(page)).status).toBe(200);
});
