import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";
import type { Video } from "openai/resources/videos";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { frameHash } from "../../support/frame-hash.js";
import { createPostgres, dropPostgres } from "../../support/front-harness.js";
import { type RoundRobin, startRoundRobin } from "../../support/round-robin.js";
import {
  environmentOf,
  listJobs,
  runCommand,
  type Running,
  startProcess,
} from "../../support/service-harness.js";

const MODEL = "service-motion-1";
const CHAT = "service-chat-1";

describe("two fronts behind a balancer, and two workers", () => {
  let folder = "";
  let databaseUrl = "";
  let balancer: RoundRobin;
  let client: OpenAI;
  let env: NodeJS.ProcessEnv;
  const fronts: Running[] = [];
  const workers: Running[] = [];
  const addresses: { readonly url: URL; readonly grpcPort: string }[] = [];
  const statuses: number[] = [];

  const startFront = async (ports: NodeJS.ProcessEnv = {}) => {
    const front = startProcess("front", { ...env, ...ports });
    const [, baseUrl = "", grpcPort = ""] = await front.says(
      /"baseUrl":"([^"]+)","grpcPort":(\d+)/,
    );
    return { front, url: new URL(baseUrl), grpcPort };
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-replicas-"));
    databaseUrl = await createPostgres();
    env = environmentOf(join(folder, "data"), {
      AMQP_URL: process.env["AMQP_URL"] ?? "",
      DATABASE_URL: databaseUrl,
      MODELS: `${MODEL},${CHAT}`,
      DRAIN_MS: "500",
    });
    for (let index = 0; index < 2; index += 1) {
      const { front, url, grpcPort } = await startFront();
      fronts.push(front);
      addresses.push({ url, grpcPort });
    }
    for (const [index, { grpcPort }] of addresses.entries()) {
      const own = { FRONT_ADDRESS: `127.0.0.1:${grpcPort}`, SCRATCH_DIR: join(folder, `${index}`) };
      const worker = startProcess("worker", { ...env, ...own });
      workers.push(worker);
      await worker.says(/worker ready/);
    }
    balancer = await startRoundRobin(addresses.map(({ url }) => url));
    const apiKey = (await runCommand(["keys", "create"], env)).trim();
    client = new OpenAI({
      apiKey,
      baseURL: `${balancer.url}/v1`,
      async fetch(url, init) {
        const answer = await fetch(url, init);
        statuses.push(answer.status);
        return answer;
      },
    });
  });
  afterAll(async () => {
    for (const process of [...workers, ...fronts]) await process.stop("SIGTERM");
    await balancer?.close();
    await dropPostgres(databaseUrl);
    await rm(folder, { recursive: true, force: true });
  });

  const create = async (seconds: string) =>
    await client.videos.create({
      model: MODEL,
      prompt: "a fox runs through the snow",
      seconds,
      seed: 7,
    } as never);
  const poll = async (id: string, until: (video: Video) => boolean): Promise<Video> => {
    for (;;) {
      const video = await client.videos.retrieve(id);
      if (until(video)) return video;
      await sleep(50);
    }
  };
  const finish = async ({ id }: Video): Promise<string> => {
    const video = await poll(id, ({ status }) => status === "completed" || status === "failed");
    expect(video).toMatchObject({ status: "completed", error: null });
    const path = join(folder, `${id}.mp4`);
    const content = await client.videos.downloadContent(id);
    await writeFile(path, Buffer.from(await content.arrayBuffer()));
    return await frameHash(path);
  };

  test("serve the stock client without one wrong answer, whichever it meets", async () => {
    const frames = finish(await create("4"));
    const streamed = await client.chat.completions
      .stream({ model: CHAT, messages: [{ role: "user", content: "What is 12 plus 30?" }] })
      .finalContent();
    expect(streamed).toContain("42");
    const first = await client.responses.create({ model: CHAT, input: "My name is Tina." });
    const second = await client.responses.create({
      model: CHAT,
      input: "Who am I?",
      previous_response_id: first.id,
    });
    expect(second.output_text).toContain("Tina");
    expect((await client.responses.retrieve(first.id)).output_text).toBe(first.output_text);
    await frames;
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(Math.min(...balancer.answered)).toBeGreaterThan(5);
  });

  test("a clip goes on elsewhere with the same frames when its worker must leave", async () => {
    const whole = await finish(await create("6"));
    const interrupted = await create("6");
    await poll(interrupted.id, ({ progress }) => progress >= 60);
    const busy = workers.find((worker) => worker.output().includes(interrupted.id));
    await busy?.stop("SIGTERM");
    expect(await finish(interrupted)).toBe(whole);
    const rows = await listJobs(env);
    expect(rows.find(({ id }) => id === interrupted.id)).toMatchObject({
      state: "completed",
      attempts: 2,
      preemptions: 1,
    });
  });

  test("a front that is replaced in the middle of a clip goes unnoticed", async () => {
    const clip = await create("4");
    await poll(clip.id, ({ status }) => status === "in_progress");
    const [front] = fronts;
    const [address] = addresses;
    await front?.stop("SIGTERM");
    const ports = { PORT: address?.url.port ?? "", GRPC_PORT: address?.grpcPort ?? "" };
    fronts[0] = (await startFront(ports)).front;
    await finish(clip);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});
