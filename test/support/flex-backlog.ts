import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Video } from "openai/resources/videos";
import { frameHash } from "./frame-hash.js";
import { finishClip, type ServiceProcesses } from "./service-harness.js";

type Clip = Video & { readonly stage: string | null; readonly service_tier: string };

interface Backlog {
  /** Between the acceptance of the priority clip and its first stage of computing, in milliseconds. */
  readonly startedAfterMs: number;
  /** Flex clips that had ended before it, and all. */
  readonly flexBefore: number;
  readonly flex: number;
  /** Flex clips that gave their place away, with their attempts. */
  readonly interrupted: readonly { readonly id: string; readonly attempts: number }[];
  /** Frames of the first of those, and of the same request that was left alone. */
  readonly hashes: readonly [interrupted: string, whole: string];
  /** Charged micro-dollars by service tier. */
  readonly charged: Readonly<Record<string, number>>;
  readonly states: ReadonlySet<string>;
}

const WAITS = new Set([null, "starting", "waiting"]);

/** Queues flex clips, and a priority clip once the first of them computes; waits for all of them. */
export async function raceBacklog(
  service: ServiceProcesses,
  {
    count,
    seconds,
    folder,
  }: { readonly count: number; readonly seconds: number; readonly folder: string },
): Promise<Backlog> {
  const { client } = service;
  const create = async (serviceTier: string, seed: number) =>
    await client.post<Clip>("/videos", {
      body: {
        model: "service-motion-1",
        prompt: "a boat at sea",
        quality: "fast",
        seconds,
        seed,
        service_tier: serviceTier,
      },
    });
  const look = async ({ id }: Pick<Video, "id">) => await client.get<Clip>(`/videos/${id}`);
  const hashOf = async ({ id }: Pick<Video, "id">) => {
    const path = join(folder, `${id}.mp4`);
    const content = await client.videos.downloadContent(id);
    await writeFile(path, Buffer.from(await content.arrayBuffer()));
    return await frameHash(path);
  };
  const flex: Clip[] = [];
  for (let seed = 1; seed <= count; seed += 1) flex.push(await create("flex", seed));
  const [first] = flex as [Clip];
  const isComputing = async (clip: Clip) => !WAITS.has((await look(clip)).stage);
  while (!(await isComputing(first))) await sleep(5);
  const priority = await create("priority", count + 1);
  const since = performance.now();
  while (!(await isComputing(priority))) await sleep(5);
  const startedAfterMs = performance.now() - since;
  await finishClip(client, priority);
  const done = await Promise.all(flex.map(look));
  const ended = await Promise.all([priority, ...flex].map((clip) => finishClip(client, clip)));
  const rows = await service.jobs();
  const interrupted = rows.filter(({ preemptions }) => preemptions > 0);
  const at = flex.findIndex(({ id }) => id === interrupted[0]?.id);
  const whole = await finishClip(client, await create("default", at + 1));
  const charged = new Map<string, number>();
  for (const [index, { cost }] of ended.entries()) {
    const tier = index === 0 ? "priority" : "flex";
    charged.set(tier, (charged.get(tier) ?? 0) + Math.round((cost.final ?? 0) * 1e6));
  }
  return {
    startedAfterMs,
    flexBefore: done.filter(({ status }) => status === "completed").length,
    flex: flex.length,
    interrupted: interrupted.map(({ id, attempts }) => ({ id, attempts })),
    hashes: [await hashOf({ id: interrupted[0]?.id ?? "" }), await hashOf(whole)],
    charged: Object.fromEntries(charged),
    states: new Set(ended.map(({ status }) => status)),
  };
}
