import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isProcessAlive } from "#framemill/core/processes.js";
import { processStart } from "#framemill/runtime/process/adoption.js";
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
  "a worker that is killed in mid-clip, and then its supervisor, leaves its models to the next, which makes the clip once more",
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
    const superviseWorker = () => start("worker", { FRONT_ADDRESS: `127.0.0.1:${port}` });
    const apiKey = (await runCommand(["keys", "create"], env)).trim();
    const client = new OpenAI({ baseURL, apiKey });
    const request = { model: "service-motion-1", prompt: "a red boat", seconds: "4" } as const;
    const first = superviseWorker();
    await first.says(/worker ready/);
    inferencePid = findInferencePid(first);
    const [killedPid] = readyPids(first);
    const clip = await client.videos.create(request);
    const status = async () => (await client.videos.retrieve(clip.id)).status;
    await expect.poll(status, { timeout: 60_000 }).toBe("in_progress");
    process.kill(killedPid ?? 0, "SIGKILL");
    await first.says(/"signal":"SIGKILL"[^\n]*the next one takes its place[^]*worker ready/);
    expect(first.output()).toMatch(adopted(inferencePid));
    expect((await finishClip(client, clip)).status).toBe("completed");
    expect(await listJobs(env)).toMatchObject([{ id: clip.id, state: "completed", attempts: 2 }]);

    await first.stop("SIGKILL");
    const second = superviseWorker();
    await second.says(/worker ready/);
    expect(readyPids(first).filter(processStart)).toEqual([]);
    expect(second.output()).toMatch(adopted(inferencePid));
    const another = await client.videos.create(request);
    expect((await finishClip(client, another)).status).toBe("completed");
    const output = first.output() + second.output();
    expect(output.match(/models are loaded/g)).toHaveLength(1);

    await second.stop("SIGTERM");
    expect(second.child.exitCode).toBe(0);
    expect(readyPids(second).filter(processStart)).toEqual([]);
  },
);

test("a supervised worker that cannot start says why, and its supervisor ends with its exit code", async () => {
  const services = { AMQP_URL: getAmqpUrl(), ADOPT_MS: "60000", MODELS_DIR: folder };
  const env = environmentOf(join(folder, "none"), services);
  const supervisor = startProcess("worker", env);
  started.push(supervisor);
  await supervisor.says(/framemill: .*holds no model package/);
  await expect.poll(() => supervisor.child.exitCode).toBe(1);
});

/** Process ids of the workers that were ready, in their order. */
function readyPids(running: Running): number[] {
  return [...running.output().matchAll(/"pid":(\d+)[^\n]*worker ready/g)].map(([, pid]) =>
    Number(pid),
  );
}

/** What a worker says that has the models of a process that it did not start. */
function adopted(processId: number): RegExp {
  return new RegExp(`"processId":${processId},"models":\\["service-motion-1"\\],"loadMs":0`);
}
