import { execFile } from "node:child_process";
import { randomInt, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { credentials, Metadata, type requestCallback } from "@grpc/grpc-js";
import { connect } from "amqplib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  CONTENT_TYPE,
  createMessageSigner,
  MESSAGE_TYPE,
  SIGNATURE,
} from "#framemill/queue/message.js";
import { createTopology } from "#framemill/queue/topology.js";
import { proto } from "#framemill/rpc/proto.js";
import { createPostgres, dropPostgres } from "../../support/front-harness.js";
import { createJob, getAmqpUrl, until } from "../../support/queue-harness.js";
import {
  finishClip,
  type ServiceProcesses,
  startApart,
  startUp,
} from "../../support/service-harness.js";
import { countOf, noteVerdict } from "./verdicts.js";

const MINUTE_MS = 60_000;
const SPOOFED = countOf({ short: 300, full: 10_000 });
const GUESSES = countOf({ short: 100, full: 5_000 });

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-strangers-"));
  // What keeps strangers out must be the service's own doing.
  await chmod(folder, 0o755);
});
afterAll(async () => await rm(folder, { recursive: true, force: true }));

describe("a stranger at the broker", () => {
  const model = "service-moderate-1";
  const topology = createTopology();
  let service: ServiceProcesses;
  let databaseUrl: string;
  let listener: Server;
  let connections = 0;
  let bytes = 0;
  beforeAll(async () => {
    databaseUrl = await createPostgres();
    const urls = { AMQP_URL: getAmqpUrl(), DATABASE_URL: databaseUrl };
    service = await startApart(join(folder, "apart"), { ...urls, MODELS: model });
    listener = createServer((socket) => {
      connections += 1;
      socket.on("data", (chunk) => (bytes += chunk.byteLength));
      socket.on("error", () => undefined);
    });
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  }, 3 * MINUTE_MS);
  afterAll(async () => {
    listener?.close();
    await service?.stop();
    await dropPostgres(databaseUrl);
  });

  it(
    "T32: gets no token and touches no file by messages of his own",
    { timeout: 10 * MINUTE_MS },
    async () => {
      const { port } = listener.address() as AddressInfo;
      const scratch = join(folder, "apart", "scratch");
      const [own = ""] = await readdir(scratch);
      // The worker numbers its attempts: whichever number comes, there is such a folder.
      const victims = Array.from({ length: SPOOFED }, (_, index) => `precious-${index + 1}`);
      for (const name of victims) {
        await mkdir(join(scratch, name));
        await writeFile(join(scratch, name, "kept"), "");
      }
      const before = await listAll(join(folder, "apart"));
      const connection = await connect(getAmqpUrl());
      const channel = await connection.createConfirmChannel();
      const dead = new Set<unknown>();
      await channel.consume(
        topology.deadQueue,
        (message) => void dead.add(message?.properties.messageId),
        { noAck: true },
      );
      const key = `moderation.${model}`;
      const stranger = createMessageSigner({ secret: "a-guess-of-the-worker-token" });
      const ids = Array.from({ length: SPOOFED }, () => randomUUID());
      for (const [index, messageId] of ids.entries()) {
        const id = index % 2 === 0 ? `../precious` : `moderation-${randomUUID()}`;
        const job = createJob({
          id,
          modality: "moderation",
          model,
          request: { inputs: ["x"] },
          reportTo: `127.0.0.1:${port}`,
        });
        const body = Buffer.from(JSON.stringify(job));
        const headers = [
          {},
          { [SIGNATURE]: stranger.sign(key, body) },
          { [SIGNATURE]: `v1=${"0".repeat(64)}` },
        ][index % 3];
        const properties = { contentType: CONTENT_TYPE, type: MESSAGE_TYPE, messageId, headers };
        channel.publish(topology.jobsExchange, key, body, { ...properties, persistent: true });
      }
      await channel.waitForConfirms();
      const buried = () => ids.filter((id) => dead.has(id)).length;
      await until(() => buried() === SPOOFED, MINUTE_MS).catch(() => undefined);
      const { results } = await service.client.moderations.create({ model, input: "a calm day" });
      const after = await listAll(join(folder, "apart"));
      const touched = before.filter((path) => !after.includes(path)).length;
      await connection.close();
      await noteVerdict({
        promise: "T32",
        injected: `${SPOOFED} spoofed messages with reportTo of a listener, half of them with ids beside ${own === "" ? "nothing" : "the scratch folder"}`,
        counted: `dead-lettered ${buried()}; connections ${connections}, bytes ${bytes} (tokens sent ${bytes === 0 ? 0 : "?"}); files touched ${touched} of ${before.length}; good requests ${results.length} of 1`,
        holds: buried() === SPOOFED && connections === 0 && bytes === 0 && touched === 0,
      });
      expect([buried(), connections, bytes, touched, results.length]).toEqual([
        SPOOFED,
        0,
        0,
        0,
        1,
      ]);
    },
  );
});

describe("a stranger on the machine", () => {
  let service: ServiceProcesses;
  let address: string;
  const dataDir = () => join(folder, "up");
  beforeAll(async () => {
    const port = await freePort();
    address = `127.0.0.1:${port}`;
    service = await startUp(dataDir(), { environment: { GRPC_PORT: String(port) } });
  }, 3 * MINUTE_MS);
  afterAll(async () => await service?.stop());

  it(
    "T31: reads nothing, and changes nothing as another worker",
    { timeout: 10 * MINUTE_MS },
    async () => {
      const { client } = service;
      const prompt = `a secret ${randomUUID()}`;
      const clip = await client.videos.create({ model: "service-motion-1", prompt, seconds: "4" });
      await until(
        async () => (await client.videos.retrieve(clip.id)).status === "in_progress",
        2 * MINUTE_MS,
      );
      const token = await readFile(join(dataDir(), "worker.token"), "utf8");
      const outsiders = [undefined, "", "a-guess-of-the-worker-token"];
      let calls = 0;
      let accepted = 0;
      for (const guess of outsiders)
        for (const answer of await tryEverything(address, guess, {
          jobId: clip.id,
          token: 2 ** 40 + 1,
        })) {
          calls += 1;
          if (answer !== "UNAUTHENTICATED") accepted += 1;
        }
      for (let guess = 0; guess < GUESSES; guess += 1) {
        // Bare numbers first, as tokens once were; then the first claim's with a guessed seal.
        const fencing = guess < 3 ? guess + 1 : 2 ** 40 + randomInt(2 ** 40);
        for (const answer of await tryEverything(address, token, {
          jobId: clip.id,
          token: fencing,
        })) {
          calls += 1;
          if (!answer.endsWith("STALE")) accepted += 1;
        }
      }
      const reads = await countReadable(dataDir(), prompt);
      const finished = await finishClip(client, clip);
      const content = await client.videos.downloadContent(clip.id);
      const isOwn = finished.status === "completed" && content.ok;
      await noteVerdict({
        promise: "T31",
        injected: `${calls} calls on loopback: without a token, with wrong ones, and ${GUESSES} fencing tokens guessed by another worker; ${reads.how}`,
        counted: `accepted writes ${accepted}, reads ${reads.count}; the clip ended as its worker said: ${isOwn ? "yes" : "no"}`,
        holds: accepted === 0 && reads.count === 0 && isOwn,
      });
      expect([accepted, reads.count, isOwn]).toEqual([0, 0, true]);
    },
  );
});

type Call = (metadata: Metadata, callback: requestCallback<{ outcome?: string }>) => unknown;

/** Everything that a worker may say of a job it has; what became of each, as the status or the outcome. */
async function tryEverything(
  address: string,
  token: string | undefined,
  lease: { readonly jobId: string; readonly token: number },
): Promise<string[]> {
  const client = new proto.framemill.v1.WorkerService(address, credentials.createInsecure());
  const metadata = new Metadata();
  if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
  const cost = { prices: { videoSeconds: 180_000 }, amountMicroUsd: 720_000 };
  const usage = { videoSeconds: 4, gpuMilliseconds: 1 };
  const calls: Call[] = [
    (own, done) => client.heartbeat({ lease, workerId: "evil" }, own, done),
    (own, done) =>
      client.complete({ lease, usage, cost, artifacts: [], outputJson: "null" }, own, done),
    (own, done) => client.fail({ lease, code: "server_error", message: "x" }, own, done),
    (own, done) => client.release({ lease }, own, done),
  ];
  const answers = calls.map(
    (call) =>
      new Promise<string>((resolve) =>
        call(metadata, (error, answer) =>
          resolve(error === null ? String(answer?.outcome) : statusName(error.code)),
        ),
      ),
  );
  const streamed = new Promise<string>((resolve) => {
    const stream = client.report(metadata);
    stream.on("data", ({ outcome }: { readonly outcome: string }) => resolve(outcome));
    stream.on("error", (error: { readonly code?: number }) => resolve(statusName(error.code)));
    stream.write({
      lease,
      sequence: 1,
      fraction: 0.99,
      stage: "evil",
      chunks: [{ json: '"evil"' }],
    });
  });
  const all = await Promise.all([...answers, streamed]);
  client.close();
  return all;
}

function statusName(code: number | undefined): string {
  return code === 16 ? "UNAUTHENTICATED" : `status ${code}`;
}

/** Files that nobody's user can read, write or look into, or, without root, that have such rights. */
async function countReadable(
  path: string,
  secret: string,
): Promise<{ readonly count: number; readonly how: string }> {
  const run = promisify(execFile);
  const tests = ["(", "-readable", "-o", "-writable", ")", "-print"];
  if (process.getuid?.() === 0 && existsSync("/usr/bin/setpriv")) {
    const as = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    const nobody = async (...words: readonly string[]) =>
      // Both programs call it a failure that they are refused.
      (await run("setpriv", [...as, ...words]).catch((failed: { stdout: string }) => failed))
        .stdout;
    const found = await nobody("find", path, ...tests);
    const secrets = await nobody("grep", "-rl", secret, path);
    const count = [...found.split("\n"), ...secrets.split("\n")].filter(Boolean).length;
    return { count, how: "find and grep as nobody" };
  }
  const { stdout } = await run("find", [path, "-maxdepth", "0", "-perm", "/077", "-print"]);
  return { count: stdout.split("\n").filter(Boolean).length, how: "rights of the data folder" };
}

async function listAll(path: string): Promise<string[]> {
  return await readdir(path, { recursive: true });
}

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
