import { once } from "node:events";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createReporter } from "#framemill/rpc/reporter.js";
import { createPostgres, dropPostgres } from "../../support/front-harness.js";
import { getAmqpUrl } from "../../support/queue-harness.js";
import { environmentOf, type Running, startProcess } from "../../support/service-harness.js";

let folder: string;
let databaseUrl: string;
let front: Running;
let grpcAddress: string;
let environment: Readonly<Record<string, string>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-token-"));
  databaseUrl = await createPostgres();
  const models = { MODELS: "service-moderate-1" };
  environment = { AMQP_URL: getAmqpUrl(), DATABASE_URL: databaseUrl, ...models };
  front = startProcess("front", environmentOf(join(folder, "front"), environment));
  const [, port] = await front.says(/"grpcPort":(\d+)/);
  grpcAddress = `127.0.0.1:${port}`;
});
afterAll(async () => {
  await front?.stop("SIGTERM");
  await dropPostgres(databaseUrl);
  await rm(folder, { recursive: true, force: true });
});

const startWorker = (dataDir: string, more: Readonly<Record<string, string>> = {}): Running => {
  const own = { ...environment, FRONT_ADDRESS: grpcAddress, ...more };
  return startProcess("worker", environmentOf(join(folder, dataDir), own));
};

it("a front without WORKER_TOKEN makes one that only its owner can read, and serves nobody without it", async () => {
  const path = join(folder, "front", "worker.token");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  const token = await readFile(path, "utf8");
  const stranger = createReporter({ address: grpcAddress, token: "a-guess-of-sixteen" });
  const refused = { code: "invalid_api_key" };
  await expect(stranger.claim("video_1", "stranger")).rejects.toMatchObject(refused);
  await stranger.close();
  const friend = createReporter({ address: grpcAddress, token });
  expect(await friend.claim("video_1", "friend")).toEqual({ outcome: "already-done" });
  await friend.close();
});

it("a worker with the same data folder, or with the same WORKER_TOKEN, is served", async () => {
  const token = await readFile(join(folder, "front", "worker.token"), "utf8");
  const workers = [startWorker("front"), startWorker("elsewhere", { WORKER_TOKEN: token })];
  for (const worker of workers) await worker.says(/worker ready/);
  for (const worker of workers) await worker.stop("SIGTERM");
  expect(workers.map(({ child }) => child.exitCode)).toEqual([0, 0]);
});

it("a worker with another token exits with a message that says what to do", async () => {
  const worker = startWorker("elsewhere");
  await worker.says(
    /the front at 127\.0\.0\.1:\d+ refuses this worker's token: give both the same WORKER_TOKEN, or on one machine the same DATA_DIR/,
  );
  if (worker.child.exitCode === null) await once(worker.child, "exit");
  expect(worker.child.exitCode).toBe(1);
});
