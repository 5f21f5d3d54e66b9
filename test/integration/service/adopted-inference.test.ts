import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isProcessAlive } from "#framemill/core/processes.js";
import { createPostgres, dropPostgres } from "../../support/front-harness.js";
import { getAmqpUrl } from "../../support/queue-harness.js";
import {
  environmentOf,
  findInferencePid,
  finishClip,
  listJobs,
  runCommand,
  type Running,
  startProcess,
} from "../../support/service-harness.js";

const started: Running[] = [];
let folder: string;
let databaseUrl: string;
let inferencePid = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "adopted-"));
  databaseUrl = await createPostgres();
});
afterAll(async () => {
  for (const running of started) await running.stop("SIGKILL");
  if (isProcessAlive(inferencePid)) process.kill(-inferencePid, "SIGKILL");
  await dropPostgres(databaseUrl);
  await rm(folder, { recursive: true, force: true });
});

test(
  "the worker after one that was killed in mid-clip has its models, and the clip is made once more",
  { timeout: 240_000 },
  async () => {
    const services = { AMQP_URL: getAmqpUrl(), DATABASE_URL: databaseUrl, ADOPT_MS: "60000" };
    const env = environmentOf(join(folder, "data"), services);
    const start = (command: string, more: NodeJS.ProcessEnv = {}) => {
      const running = startProcess(command, { ...env, ...more });
      started.push(running);
      return running;
    };
    const front = start("front");
    const [, baseURL = "", port] = await front.says(/"baseUrl":"([^"]+)","grpcPort":(\d+)/);
    const startWorker = async () => {
      const worker = start("worker", { FRONT_ADDRESS: `127.0.0.1:${port}` });
      await worker.says(/worker ready/);
      return worker;
    };
    const first = await startWorker();
    inferencePid = findInferencePid(first);
    const apiKey = (await runCommand(["keys", "create"], env)).trim();
    const client = new OpenAI({ baseURL, apiKey });
    const request = { model: "service-motion-1", prompt: "a red boat", seconds: "4" } as const;
    const clip = await client.videos.create(request);
    const status = async () => (await client.videos.retrieve(clip.id)).status;
    await expect.poll(status, { timeout: 60_000 }).toBe("in_progress");
    await first.stop("SIGKILL");
    const second = await startWorker();
    expect(second.output()).toMatch(
      new RegExp(`"processId":${inferencePid},"models":\\["service-motion-1"\\],"loadMs":0`),
    );
    expect(second.output()).not.toContain("models are loaded");
    expect((await finishClip(client, clip)).status).toBe("completed");
    expect(await listJobs(env)).toMatchObject([{ id: clip.id, state: "completed", attempts: 2 }]);
  },
);
