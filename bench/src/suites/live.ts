import type { Config } from "../../../src/config.js";
import type { Stack } from "../../../src/bin/stack.js";
import { type BenchResult, type BenchRow, compare, machine } from "../report/measure.js";
import { partsOf, withBenchStack } from "../service/stack.js";
import { BENCH_REQUEST } from "./clip.js";

/** Of the clip's wall time, until its first second can be played. */
const MOST_SHARE = 0.5;
/** Of the wall time where nothing can be played early. */
const MOST_WALL = 1.02;
const LENGTHS = [4, 10];
const VIEWERS = 2;

/**
 * Clips of one seed that are watched while they are made, beside the same ones by a service with
 * LIVE_PLAYBACK off; which of them goes first changes from round to round. Both have embedded parts: on
 * servers that they share, each would take the other's jobs.
 */
export async function runLive(given: Config, rounds: number): Promise<BenchResult> {
  const { amqpUrl: _broker, databaseUrl: _database, ...config } = given;
  const served = { ...config, models: [BENCH_REQUEST.model], livePlayback: true };
  return await withBenchStack(served, async (live) =>
    withBenchStack({ ...served, livePlayback: false }, async (without) => {
      const rows: BenchRow[] = [];
      for (const seconds of LENGTHS)
        rows.push(...(await measure({ live, without, seconds, rounds })));
      const { prompt, seed } = BENCH_REQUEST;
      const own = { prompt, seed, quality: "standard", viewers: VIEWERS, rounds };
      const parts = partsOf(config, live);
      return {
        suite: "live",
        conditions: { ...machine(), parts, threads: config.threads, ...own },
        rows,
      };
    }),
  );
}

interface Subjects {
  readonly live: Stack;
  readonly without: Stack;
  readonly seconds: number;
  readonly rounds: number;
}

async function measure({ live, without, seconds, rounds }: Subjects): Promise<BenchRow[]> {
  await makeClip(live, seconds, VIEWERS);
  await makeClip(without, seconds, 0);
  const pairs: { watched: Clip; plain: Clip }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const plainFirst = round % 2 === 1;
    const before = plainFirst ? await makeClip(without, seconds, 0) : undefined;
    const watched = await makeClip(live, seconds, VIEWERS);
    pairs.push({ watched, plain: before ?? (await makeClip(without, seconds, 0)) });
  }
  const kind = `clip of ${seconds} s`;
  return [
    compare(
      { what: `${kind}: first second playable / finished`, unit: "ms", target: MOST_SHARE },
      pairs.map(({ watched }) => ({ ours: watched.firstSecondMs, against: watched.wallMs })),
    ),
    compare(
      { what: `${kind}: finished, with / without`, unit: "ms", target: MOST_WALL },
      pairs.map(({ watched, plain }) => ({ ours: watched.wallMs, against: plain.wallMs })),
    ),
  ];
}

/** Milliseconds from the request that makes it. */
interface Clip {
  readonly wallMs: number;
  /** Of the last of its viewers. */
  readonly firstSecondMs: number;
}

async function makeClip(
  { endpoint: { baseUrl, apiKey } }: Stack,
  seconds: number,
  viewers: number,
): Promise<Clip> {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const { model, prompt, seed } = BENCH_REQUEST;
  const body = JSON.stringify({ model, prompt, seed, seconds, quality: "standard" });
  const startedAt = performance.now();
  const created = await fetch(`${baseUrl}/videos`, { method: "POST", headers, body });
  const { id } = await readJson(created);
  const url = `${baseUrl}/videos/${id}`;
  const now = () => performance.now() - startedAt;
  const view = async () => await watch(await fetch(`${url}/content?live=1`, { headers }), now);
  const finish = async () => {
    for (let status = "queued"; status !== "completed";) {
      ({ status } = await readJson(await fetch(`${url}?wait=60`, { headers })));
      if (status === "failed") throw new Error(`${id} has failed`);
    }
    return now();
  };
  const [wallMs, ...firsts] = await Promise.all([
    finish(),
    ...Array.from({ length: viewers }, view),
  ]);
  return { wallMs, firstSecondMs: Math.max(...firsts) };
}

// The front is of this build.
// oxlint-disable typescript/no-unsafe-type-assertion
async function readJson(
  response: Response,
): Promise<{ readonly id: string; readonly status: string }> {
  return (await response.json()) as { readonly id: string; readonly status: string };
}
// oxlint-enable typescript/no-unsafe-type-assertion

/** Reads to the end; resolves to the time at which the first piece was there with the box behind it. */
async function watch({ status, body }: Response, now: () => number): Promise<number> {
  if (status !== 200 || body === null) throw new Error(`a viewer got ${status}`);
  let received = Buffer.alloc(0);
  let firstMs: number | undefined;
  for await (const chunk of body) {
    if (firstMs !== undefined) continue;
    received = Buffer.concat([received, chunk]);
    if (received.includes("free")) firstMs = now();
  }
  if (firstMs === undefined) throw new Error("a viewer's clip ended before its first second");
  return firstMs;
}
