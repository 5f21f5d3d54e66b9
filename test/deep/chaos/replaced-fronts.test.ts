import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect, type ChannelModel } from "amqplib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createPostgres, dropPostgres } from "../../support/front-harness.js";
import { getAmqpUrl } from "../../support/queue-harness.js";
import {
  environmentOf,
  runCommand,
  type Running,
  startProcess,
} from "../../support/service-harness.js";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.js";
import { ask } from "./ledger.js";
import { countOf, limitOf, noteVerdict } from "./verdicts.js";

const MINUTE_MS = 60_000;
const MODEL = "service-image-1";
const ROUNDS = countOf({ short: 2, full: 20 });
/** Replied jobs at a front when it is replaced. */
const JOBS = 8;
/** Pictures one after another through a front that stays, before and after. */
const PICTURES = countOf({ short: 5, full: 30 });
const LEASE_MS = 30_000;
/** From the front's end to that of an attempt for it. */
const SLOT_MS = LEASE_MS + 2_000;
/** Of the latency after to that before. */
const RATIO = limitOf(1.5);
/** Where a message that goes round waits in between. */
const RETRY_QUEUES = [5_000, 30_000, 120_000].map((ms) => `jobs.retry.${ms}ms`);

interface Front {
  readonly running: Running;
  readonly baseUrl: string;
  readonly grpcPort: number;
}

interface Attempt {
  readonly job_id: string;
  /** Milliseconds of its slot's work after its front had gone; null while it lasts. */
  readonly held_ms: number | null;
}

describe("fronts that are replaced under another address", () => {
  let folder: string;
  let databaseUrl: string;
  let env: NodeJS.ProcessEnv;
  let apiKey: string;
  let worker: Running;
  let amqp: ChannelModel;
  /** What workers know the fronts by: it leads to one that is there. */
  let service: TcpProxy;
  const fronts: Front[] = [];

  const startFront = async (): Promise<Front> => {
    const running = startProcess("front", env);
    const [, baseUrl = "", grpcPort] = await running.says(/"baseUrl":"([^"]+)","grpcPort":(\d+)/);
    const front = { running, baseUrl, grpcPort: Number(grpcPort) };
    fronts.push(front);
    return front;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-fronts-"));
    databaseUrl = await createPostgres();
    env = environmentOf(join(folder, "data"), {
      AMQP_URL: getAmqpUrl(),
      DATABASE_URL: databaseUrl,
      MODELS: MODEL,
      REQUESTS_PER_MINUTE: "1000000",
    });
    amqp = await connect(getAmqpUrl());
    amqp.on("error", () => {});
    const { grpcPort } = await startFront();
    service = await startTcpProxy(grpcPort);
    worker = startProcess("worker", { ...env, FRONT_ADDRESS: `127.0.0.1:${service.port}` });
    await worker.says(/worker ready/);
    apiKey = (await runCommand(["keys", "create"], env)).trim();
  }, 2 * MINUTE_MS);
  afterAll(async () => {
    await worker?.stop("SIGTERM");
    for (const { running } of fronts) await running.stop("SIGKILL");
    await service?.close();
    await amqp?.close();
    await dropPostgres(databaseUrl);
    await rm(folder, { recursive: true, force: true });
  });

  /** Asks for pictures; resolves to the status, 0 where the connection broke. */
  const draw = async ({ baseUrl }: Front, fields: object = {}): Promise<number> => {
    const body = JSON.stringify({ model: MODEL, prompt: "a red kite", ...fields });
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    try {
      const answer = await fetch(`${baseUrl}/images/generations`, {
        method: "POST",
        headers,
        body,
      });
      await answer.arrayBuffer();
      return answer.status;
    } catch {
      return 0;
    }
  };
  const timeOf = async (work: Promise<number>): Promise<number> => {
    const startedAt = performance.now();
    expect(await work).toBe(200);
    return performance.now() - startedAt;
  };
  const timePictures = async (front: Front): Promise<number[]> => {
    const times: number[] = [];
    for (let nth = 0; nth < PICTURES; nth += 1) times.push(await timeOf(draw(front)));
    return times;
  };
  const query = <Row extends object>(question: string, values: readonly unknown[] = []) =>
    ask<Row>(databaseUrl, question, values);
  const countOpen = async (address: string): Promise<number> => {
    const [row] = await query<{ open: number }>(
      "SELECT count(*)::int AS open FROM jobs WHERE report_to = $1 AND ended_at IS NULL",
      [address],
    );
    return row?.open ?? 0;
  };
  const until = async (claim: () => Promise<boolean>, timeoutMs = 3 * MINUTE_MS): Promise<void> => {
    const end = performance.now() + timeoutMs;
    while (!(await claim())) {
      if (performance.now() > end) throw new Error(`not within ${timeoutMs} ms: ${String(claim)}`);
      await sleep(100);
    }
  };
  const countMessages = async (): Promise<number> => {
    const channel = await amqp.createChannel();
    try {
      const queues = [`jobs.image.${MODEL}`, ...RETRY_QUEUES];
      const found = await Promise.all(queues.map((name) => channel.checkQueue(name)));
      return found.reduce((sum, { messageCount }) => sum + messageCount, 0);
    } finally {
      await channel.close();
    }
  };
  const unansweredIn = (text: string): number => text.match(/claim not answered/g)?.length ?? 0;

  /** Ends a front with callers on the line, once a new one stands; resolves to what became of its jobs. */
  async function replace(leaving: Front, signal: "SIGKILL" | "SIGTERM") {
    const address = `127.0.0.1:${leaving.grpcPort}`;
    const fields = [{ n: 2 }, { stream: true, partial_images: 2 }];
    const callers = Array.from({ length: JOBS }, (_, nth) => draw(leaving, fields[nth % 2]));
    await until(async () => (await countOpen(address)) === JOBS);
    await until(async () => {
      const [row] = await query<{ held: boolean }>(
        "SELECT bool_or(lease_until > now()) AS held FROM jobs WHERE report_to = $1",
        [address],
      );
      return row?.held === true;
    });
    const next = await startFront();
    const [{ at } = { at: "" }] = await query<{ at: string }>("SELECT now()::text AS at");
    const ending = leaving.running.stop(signal);
    service.aim(next.grpcPort);
    await ending;
    fronts.splice(fronts.indexOf(leaving), 1);
    const statuses = await Promise.all(callers);
    await until(async () => (await countOpen(address)) === 0);
    await until(async () =>
      (await readAttempts(address, at)).every(({ held_ms: ms }) => ms !== null),
    );
    const attempts = await readAttempts(address, at);
    return {
      next,
      statuses,
      longestMs: Math.max(0, ...attempts.map(({ held_ms: ms }) => ms ?? 0)),
    };
  }

  /** The attempts for callers of this address that lasted beyond the time. */
  const readAttempts = (address: string, at: string) =>
    query<Attempt>(
      `SELECT job_id, extract(epoch FROM attempts.ended_at
          - greatest(attempts.started_at, $2::timestamptz))::float8 * 1000 AS held_ms
        FROM attempts JOIN jobs ON jobs.id = job_id WHERE report_to = $1
          AND (attempts.ended_at IS NULL OR attempts.ended_at > $2::timestamptz)`,
      [address, at],
    );

  it(
    "T21: block no worker, and leave no message in the queue",
    { timeout: 60 * MINUTE_MS },
    async () => {
      let [leaving] = fronts;
      if (leaving === undefined) throw new Error("there is no front");
      const staying = await startFront();
      await timePictures(staying);
      const before = await timePictures(staying);
      const held: number[] = [];
      const refused: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const signal = round % 2 === 0 ? "SIGKILL" : "SIGTERM";
        const { next, statuses, longestMs } = await replace(leaving, signal);
        held.push(longestMs);
        // Of a front that leaves in order nobody's connection breaks.
        if (signal === "SIGTERM") refused.push(...statuses.filter((status) => status !== 200));
        leaving = next;
      }
      await until(async () => (await countMessages()) === 0);
      const said = worker.output().length;
      const after = await timePictures(staying);
      const comingBack = unansweredIn(worker.output().slice(said)) + (await countMessages());
      const ratio = median(after) / median(before);
      const unclean = refused.filter((status) => status !== 503).length;
      const holds =
        Math.max(...held) <= SLOT_MS && comingBack === 0 && unclean === 0 && ratio <= RATIO;
      await noteVerdict({
        promise: "T21",
        injected: `${ROUNDS} fronts killed or sent SIGTERM and replaced under another address, each with ${JOBS} callers`,
        counted: `slot held for at most ${seconds(Math.max(...held))} after, messages that came back ${comingBack}, other answers than 200 and 503 of those told to leave ${unclean}, pictures after / before ${seconds(median(after))} / ${seconds(median(before))} = ${ratio.toFixed(2)}`,
        holds,
      });
      expect({ comingBack, unclean }).toEqual({ comingBack: 0, unclean: 0 });
      expect(Math.max(...held)).toBeLessThanOrEqual(SLOT_MS);
      expect(ratio).toBeLessThanOrEqual(RATIO);
    },
  );

  it("T21: roll out under load, one after the other", { timeout: 10 * MINUTE_MS }, async () => {
    let [first, second] = fronts;
    if (first === undefined || second === undefined) throw new Error("there are no two fronts");
    let serving = [first, second];
    let phase: "before" | "during" | "after" = "before";
    const times = { before: [] as number[], during: [] as number[], after: [] as number[] };
    const over = new AbortController();
    let turn = 0;
    /** A client that goes to another front where one refuses it. */
    const load = async (): Promise<number> => {
      let again = 0;
      while (!over.signal.aborted) {
        const startedAt = performance.now();
        const asked = phase;
        for (;;) {
          const front = serving[turn++ % serving.length];
          const status = front === undefined ? 0 : await draw(front);
          if (status === 200) break;
          // Of a front that has just left.
          expect([0, 503]).toContain(status);
          again += 1;
        }
        times[asked].push(performance.now() - startedAt);
      }
      return again;
    };
    const loads = [load(), load()];
    const wait = async () => {
      const enough = times[phase].length + PICTURES;
      while (times[phase].length < enough) await sleep(50);
    };
    await wait();
    phase = "during";
    for (const leaving of [first, second]) {
      const next = await startFront();
      serving = [...serving.filter((front) => front !== leaving), next];
      service.aim(next.grpcPort);
      await leaving.running.stop("SIGTERM");
      fronts.splice(fronts.indexOf(leaving), 1);
    }
    await wait();
    phase = "after";
    await wait();
    over.abort();
    const again = (await Promise.all(loads)).reduce((sum, count) => sum + count, 0);
    const rows = Object.entries(times).map(
      ([name, all]) => `${name} ${seconds(median(all))} / ${seconds(quantile(all, 0.95))}`,
    );
    process.stdout.write(
      `rollout of two fronts, picture p50 / p95: ${rows.join(", ")}; asked again ${again}\n`,
    );
    expect(again).toBeLessThanOrEqual(4);
  });
});

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

const median = (values: readonly number[]): number => quantile(values, 0.5);
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
