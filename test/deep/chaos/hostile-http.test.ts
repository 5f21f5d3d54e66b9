import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { NO_REQUEST, NOT_JSON } from "../fuzz/json-cases.js";
import { NAUGHTY } from "../fuzz/naughty.js";
import {
  call,
  type CallOptions,
  createPostgres,
  dropPostgres,
} from "../../support/front-harness.js";
import { getAmqpUrl } from "../../support/queue-harness.js";
import { environmentOf, type Running, startProcess } from "../../support/service-harness.js";
import { countOf, limitOf, noteVerdict } from "./verdicts.js";

const SLOW_CONNECTIONS = 500;
const ROUNDS = countOf({ short: 5, full: 25 });
const GOOD_A_ROUND = 100;
/** Good requests before each measurement, so that neither side pays for what came before it. */
const UNTIMED = 40;
/** A measurement that something else on the machine disturbed is taken again. */
const MEASUREMENTS = 3;
/** 10 s for a header, 30 s for a request; the server looks every 2 s. */
const HEADER_END_MS = 16_000;
/** Times that good requests may take longer beside the attack. */
const SLOWER = limitOf(2);
const REQUEST_END_MS = 36_000;
const cli = fileURLToPath(new URL("../../../dist/bin/framemill.js", import.meta.url));

let folder: string;
let databaseUrl: string;
let front: Running;
let origin: string;
let key: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-hostile-"));
  databaseUrl = await createPostgres();
  const env = environmentOf(folder, {
    AMQP_URL: getAmqpUrl(),
    DATABASE_URL: databaseUrl,
    REQUESTS_PER_MINUTE: "1000000",
  });
  front = startProcess("front", env);
  const [, baseUrl = ""] = await front.says(/"baseUrl":"([^"]+)"/);
  origin = new URL(baseUrl).origin;
  key = (
    await promisify(execFile)(process.execPath, [cli, "keys", "create"], { env })
  ).stdout.trim();
});
afterAll(async () => {
  await front?.stop("SIGTERM");
  await dropPostgres(databaseUrl);
  await rm(folder, { recursive: true, force: true });
});

const statuses: number[] = [];

async function send(options: CallOptions): Promise<void> {
  statuses.push((await call(`${origin}/v1/videos`, { key, ...options })).status);
}

/** A connection, what came back over it, and its end. */
function open(first: string): { readonly socket: Socket; readonly ended: Promise<string> } {
  const socket = connect(Number(new URL(origin).port), "127.0.0.1", () => socket.write(first));
  let received = "";
  socket.setEncoding("latin1").on("data", (text: string) => (received += text));
  socket.on("error", () => undefined);
  return { socket, ended: new Promise((resolve) => socket.on("close", () => resolve(received))) };
}

const HEAD = `POST /v1/videos HTTP/1.1\r\nhost: x\r\n`;
const form = "content-type: multipart/form-data; boundary=b\r\n";

/** Says that more follows, and goes. */
async function sendTruncatedForm(): Promise<void> {
  const part = `--b\r\ncontent-disposition: form-data; name="image"; filename="a.png"\r\n\r\n\x89PNG`;
  const { socket, ended } = open(
    `${HEAD}authorization: Bearer ${key}\r\n${form}content-length: 9999\r\n\r\n${part}`,
  );
  await sleep(5);
  socket.end();
  const status = /^HTTP\/1\.1 (\d{3})/.exec(await ended)?.[1];
  if (status !== undefined) statuses.push(Number(status));
}

const video = (prompt: string) => ({ model: "service-motion-1", prompt, seconds: 3 });
const CASES: readonly (() => Promise<void>)[] = [
  ...[...NOT_JSON, ...NO_REQUEST].map((body) => () => send({ body })),
  ...NAUGHTY.map((text) => () => send({ body: video(text) })),
  sendTruncatedForm,
];

/** Milliseconds of good requests, one after the other. */
async function timeGood(): Promise<number[]> {
  const times: number[] = [];
  for (let index = -UNTIMED; index < GOOD_A_ROUND; index++) {
    const startedAt = performance.now();
    const { status } = await call(`${origin}/v1/videos?limit=5`, { key });
    if (index >= 0) times.push(performance.now() - startedAt);
    expect(status).toBe(200);
  }
  return times;
}

interface Attack {
  readonly slow: readonly ReturnType<typeof open>[];
  readonly end: () => Promise<void>;
}

/** Slow headers on many connections, and the hostile cases in turn. */
function attack(): Attack {
  const slow = Array.from({ length: SLOW_CONNECTIONS }, () => open("GET / HTTP/1.1\r\nx-a: b\r\n"));
  const dripping = setInterval(() => {
    for (const { socket } of slow) if (socket.writable) socket.write("x-a: b\r\n");
  }, 1_000);
  const stop = new AbortController();
  const sending = (async () => {
    for (let turn = 0; !stop.signal.aborted; turn++) {
      await CASES[turn % CASES.length]?.();
      await sleep(5);
    }
  })();
  return {
    slow,
    async end() {
      stop.abort();
      clearInterval(dripping);
      await sending;
    },
  };
}

/** Median over the rounds of the 99th percentile, in milliseconds, without and with the attack. */
async function measure(): Promise<{ readonly alone: number; readonly attacked: number }> {
  const alone: number[] = [];
  const attacked: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(percentile(await timeGood(), 0.99));
    const { slow, end } = attack();
    attacked.push(percentile(await timeGood(), 0.99));
    await end();
    for (const { socket } of slow) socket.destroy();
    await Promise.all(slow.map(({ ended }) => ended));
  }
  return { alone: percentile(alone, 0.5), attacked: percentile(attacked, 0.5) };
}

function percentile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(fraction * sorted.length))] ?? Infinity;
}

/** Those that the front itself ended in time, with what it said. */
async function endedBy(
  connections: readonly ReturnType<typeof open>[],
  timeoutMs: number,
): Promise<string[]> {
  const timeout = sleep(timeoutMs, undefined, { ref: false });
  const answers = await Promise.all(
    connections.map(({ ended }) => Promise.race([ended, timeout.then(() => undefined)])),
  );
  for (const { socket } of connections) socket.destroy();
  return answers.flatMap((answer) => (answer?.startsWith("HTTP/1.1 408") === true ? [answer] : []));
}

it(
  "T15: answers no hostile request with 5xx, and good ones as fast as before",
  { timeout: 600_000 },
  async () => {
    const body = open(
      `${HEAD}authorization: Bearer ${key}\r\n${form}content-length: 9999\r\n\r\n-`,
    );
    const bodyEnd = endedBy([body], REQUEST_END_MS);
    for (const one of CASES) await one();
    let times = await measure();
    for (let again = 1; again < MEASUREMENTS && times.attacked >= SLOWER * times.alone; again++)
      times = await measure();
    const { slow, end } = attack();
    const closed = (await endedBy(slow, HEADER_END_MS)).length;
    await end();
    const bodies = (await bodyEnd).length;
    const failures = statuses.filter((status) => status >= 500).length;
    const { alone, attacked } = times;
    await noteVerdict({
      promise: "T15",
      injected: `${SLOW_CONNECTIONS} slow connections, ${statuses.length} hostile requests`,
      counted: `5xx ${failures}; slow connections ended by the front ${closed} of ${SLOW_CONNECTIONS}; p99 of good requests ${alone.toFixed(1)} ms alone, ${attacked.toFixed(1)} ms attacked`,
      holds: failures === 0 && closed === SLOW_CONNECTIONS && attacked < SLOWER * alone,
    });
    expect({ failures, closed, bodies }).toEqual({
      failures: 0,
      closed: SLOW_CONNECTIONS,
      bodies: 1,
    });
    expect(attacked).toBeLessThan(SLOWER * alone);
    expect(front.child.exitCode).toBeNull();
  },
);
