import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import type { Video } from "openai/resources/videos";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { frameHash } from "../../support/frame-hash.js";
import { createPostgres, dropPostgres, SOON } from "../../support/front-harness.js";
import { getAmqpUrl } from "../../support/queue-harness.js";
import { type RoundRobin, startRoundRobin } from "../../support/round-robin.js";
import {
  environmentOf,
  findInferencePid,
  finishClip,
  listJobs,
  runCommand,
  type Running,
  startProcess,
} from "../../support/service-harness.js";

const MODEL = "service-motion-1";
const CHAT = "service-chat-1";

/** A clip, and the worker whose inference process stands still. */
interface Caught {
  readonly clip: Video;
  readonly worker: Running;
  readonly inferencePid: number;
}

describe("two fronts behind a balancer, and two workers", { timeout: 600_000 }, () => {
  let folder = "";
  let databaseUrl = "";
  let balancer: RoundRobin;
  let client: OpenAI;
  let env: NodeJS.ProcessEnv;
  /** Frames of a clip that was left alone. */
  let whole = "";
  let caught: Caught;
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
      AMQP_URL: getAmqpUrl(),
      DATABASE_URL: databaseUrl,
      MODELS: `${MODEL},${CHAT}`,
      // A worker that drains hands its job over at once.
      DRAIN_MS: "1",
      // The tests ask for a clip's progress all the time.
      REQUESTS_PER_MINUTE: "1000000",
    });
    for (const { front, url, grpcPort } of await Promise.all([startFront(), startFront()])) {
      fronts.push(front);
      addresses.push({ url, grpcPort });
    }
    for (const [index, { grpcPort }] of addresses.entries()) {
      const own = { FRONT_ADDRESS: `127.0.0.1:${grpcPort}`, SCRATCH_DIR: join(folder, `${index}`) };
      workers.push(startProcess("worker", { ...env, ...own }));
    }
    await Promise.all(workers.map((worker) => worker.says(/worker ready/)));
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

  const create = async () =>
    await client.videos.create({
      model: MODEL,
      prompt: "a fox runs through the snow",
      seconds: "4",
      quality: "fast",
      seed: 7,
    } as never);
  const read = async ({ id }: Video) => await client.videos.retrieve(id);
  const finish = async (video: Video): Promise<string> => {
    const ended = await finishClip(client, video);
    expect(ended).toMatchObject({ status: "completed", error: null });
    const path = join(folder, `${video.id}.mp4`);
    const content = await client.videos.downloadContent(video.id);
    await writeFile(path, Buffer.from(await content.arrayBuffer()));
    return await frameHash(path);
  };

  test("serve the stock client without one wrong answer, whichever replica it reaches", async () => {
    const frames = finish(await create());
    const greedy = { model: CHAT, temperature: 0 };
    const streamed = await client.chat.completions
      .stream({ ...greedy, messages: [{ role: "user", content: "What is 12 plus 30?" }] })
      .finalContent();
    expect(streamed).toContain("42");
    const first = await client.responses.create({ ...greedy, input: "My name is Tina." });
    const second = await client.responses.create({
      ...greedy,
      input: "Who am I?",
      previous_response_id: first.id,
    });
    expect(second.output_text).toContain("Tina");
    expect((await client.responses.retrieve(first.id)).output_text).toBe(first.output_text);
    whole = await frames;
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(Math.min(...balancer.answered)).toBeGreaterThan(2);
  });

  test("replacing a front in the middle of a clip is not noticed", async () => {
    caught = await catchInMidClip();
    const [front] = fronts;
    const [address] = addresses;
    await front?.stop("SIGTERM");
    const ports = { PORT: address?.url.port ?? "", GRPC_PORT: address?.grpcPort ?? "" };
    fronts[0] = (await startFront(ports)).front;
    const status = async () => (await read(caught.clip)).status;
    expect(await Promise.all([status(), status()])).toEqual(["in_progress", "in_progress"]);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  test("a clip resumes on another worker with the same frames when its worker drains", async () => {
    const { clip, worker, inferencePid } = caught;
    const left = worker.stop("SIGTERM");
    process.kill(inferencePid, "SIGCONT");
    await left;
    expect(await finish(clip)).toBe(whole);
    expect(new Set(statuses)).toEqual(new Set([200]));
    const rows = await listJobs(env);
    expect(rows.find(({ id }) => id === clip.id)).toMatchObject({
      state: "completed",
      attempts: 2,
      preemptions: 1,
    });
  });

  /** In the middle of a clip; one that was quicker does not count. */
  async function catchInMidClip(): Promise<Caught> {
    for (;;) {
      const clip = await create();
      await expect.poll(async () => (await read(clip)).progress, SOON).toBeGreaterThanOrEqual(20);
      const holds = (each: Running) => each.output().includes(clip.id);
      await expect.poll(() => workers.some(holds), SOON).toBe(true);
      const [worker] = workers.filter(holds) as [Running];
      const inferencePid = findInferencePid(worker);
      process.kill(inferencePid, "SIGSTOP");
      const { status, progress } = await read(clip);
      if (status === "in_progress" && progress < 90) return { clip, worker, inferencePid };
      process.kill(inferencePid, "SIGCONT");
    }
  }
});
