import { type ChildProcess, execFile, spawn } from "node:child_process";
import { readFile, mkdtemp, rm } from "node:fs/promises";
import { constants, setPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { createChatTemplate } from "#framemill/models/decoder/chat-template.js";
import { createTextTokenizer } from "#framemill/models/tokenizer/text-tokenizer.js";
import { byteTokenizerJson } from "../../support/byte-tokenizer.js";
import { CHAT_TEMPLATES } from "../../support/chat-templates.js";
import { call, createPostgres, dropPostgres } from "../../support/front-harness.js";
import { getAmqpUrl } from "../../support/queue-harness.js";
import { environmentOf, type Running, startProcess } from "../../support/service-harness.js";
import { countOf, limitOf, noteVerdict } from "./verdicts.js";

/** What the attacker sends goes on beside a caller of another project who is timed. */
const GOOD_EVERY_MS = 150;
const GOOD_REQUESTS = countOf({ short: 20, full: 100 });
const SCHEMAS = countOf({ short: 20, full: 200 });
const EACH_ATTACK = countOf({ short: 5, full: 50 });
const ATTACKERS = 4;
/** No faster than a project's usual 600 requests a minute. */
const ATTACK_EVERY_MS = 100;
const SLOWER = limitOf(2);
const GAP_MS = limitOf(100);
const GROWTH_FRACTION = limitOf(0.1);
const GROWTH_BYTES = limitOf(200 * 2 ** 20);
const CHAT = "service-chat-1";
const cli = fileURLToPath(new URL("../../../dist/bin/framemill.js", import.meta.url));
/** Writes the longest pause of the event loop since it was last asked, at SIGUSR2. */
const GAPS = `
  let last = performance.now(), worst = 0;
  setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last - 5);
    last = now;
  }, 5).unref();
  process.on("SIGUSR2", () => {
    process.stderr.write("gap=" + Math.round(worst) + "\\n");
    worst = 0;
  });`;
const IMPORT_GAPS = `--import=data:text/javascript,${encodeURIComponent(GAPS)}`;

let folder: string;
let databaseUrl: string;
let front: Running;
let worker: Running;
let timer: ChildProcess;
let timerLines: AsyncIterator<string>;
let baseUrl: string;
let attacker: string;
let victim: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-tenants-"));
  databaseUrl = await createPostgres();
  const env = environmentOf(folder, {
    AMQP_URL: getAmqpUrl(),
    DATABASE_URL: databaseUrl,
    REQUESTS_PER_MINUTE: "1000000",
    TOKENS_PER_MINUTE: "1000000000",
    MODELS: `${CHAT},service-embed-1`,
    WORKER_TOKEN: "the-worker-token-of-tests",
  });
  front = startProcess("front", { ...env, NODE_OPTIONS: IMPORT_GAPS });
  const [, base = "", grpcPort = ""] = await front.says(/"baseUrl":"([^"]+)","grpcPort":(\d+)/);
  baseUrl = base;
  const code = ["--input-type=module", "--eval", TIMER];
  timer = spawn(process.execPath, code, { stdio: ["pipe", "pipe", "inherit"] });
  timerLines = createInterface({ input: timer.stdout ?? process.stdin })[Symbol.asyncIterator]();
  // Attackers and workers have machines of their own: here they leave the front its time.
  setPriority(constants.priority.PRIORITY_LOW);
  worker = startProcess("worker", { ...env, FRONT_ADDRESS: `127.0.0.1:${grpcPort}` });
  await worker.says(/worker ready/);
  const keyOf = async (project: string) =>
    (
      await promisify(execFile)(process.execPath, [cli, "keys", "create", "--project", project], {
        env,
      })
    ).stdout.trim();
  [attacker, victim] = [await keyOf("attacker"), await keyOf("victim")];
});
afterAll(async () => {
  timer?.stdin?.end();
  await worker?.stop("SIGTERM");
  await front?.stop("SIGTERM");
  await dropPostgres(databaseUrl);
  await rm(folder, { recursive: true, force: true });
});

async function worstGapMs(): Promise<number> {
  const before = front.output().length;
  front.child.kill("SIGUSR2");
  for (;;) {
    const gap = /gap=(\d+)/.exec(front.output().slice(before))?.[1];
    if (gap !== undefined) return Number(gap);
    await sleep(20);
  }
}

async function residentBytes(): Promise<number> {
  const status = await readFile(`/proc/${front.child.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1_024;
}

/** Times requests, each begun at its time, in a process of its own: it waits for nothing but the front. */
const TIMER = `
  for await (const line of (await import("node:readline")).createInterface({ input: process.stdin })) {
    const [url, key, count, every] = JSON.parse(line);
    const times = await Promise.all(Array.from({ length: count }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * every));
      const startedAt = performance.now();
      const answer = await fetch(url, { headers: { authorization: "Bearer " + key } });
      await answer.text();
      if (answer.status !== 200) throw new Error("got " + answer.status);
      return performance.now() - startedAt;
    }));
    console.log(JSON.stringify(times));
  }`;

/** What the victim's requests take, in milliseconds. */
async function timeVictim(): Promise<number[]> {
  const asked = [`${baseUrl}/models`, victim, GOOD_REQUESTS, GOOD_EVERY_MS];
  timer.stdin?.write(`${JSON.stringify(asked)}\n`);
  const { value } = await timerLines.next();
  return z.array(z.number()).parse(JSON.parse(String(value)));
}

function p99(times: readonly number[]): number {
  const sorted = times.toSorted((left, right) => left - right);
  return sorted[Math.floor(0.99 * (sorted.length - 1))] ?? Infinity;
}

type Attack = () => Promise<number>;

/** Runs `count` attacks, some at once, again and again until the victim has been timed. */
async function timeBeside(attacks: readonly Attack[]) {
  const statuses: number[] = [];
  const timing = timeVictim();
  let isTimed = false;
  void timing.finally(() => (isTimed = true)).catch(() => undefined);
  let next = 0;
  await Promise.all(
    Array.from({ length: ATTACKERS }, async () => {
      while (next < attacks.length || !isTimed) {
        const attack = attacks[next % attacks.length];
        next += 1;
        if (attack) statuses.push(await attack());
        await sleep(ATTACKERS * ATTACK_EVERY_MS);
      }
    }),
  );
  return { times: await timing, statuses };
}

function countStatuses(statuses: readonly number[]): string {
  const counts = new Map<number, number>();
  for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${status}: ${count}`).join(", ");
}

/** 3 KB: each level names the next eight times. */
function doubling(): object {
  const $defs: Record<string, object> = {};
  const names = (level: number) => Array.from({ length: 8 }, () => ({ $ref: `#/$defs/a${level}` }));
  for (let level = 0; level < 15; level += 1) $defs[`a${level}`] = { allOf: names(level + 1) };
  $defs["a15"] = { type: "object" };
  return { allOf: [{ $ref: "#/$defs/a0" }], $defs };
}

/** Hostile in different ways, and none like another: nothing is remembered of them. */
const SHAPES: readonly ((seed: number) => object)[] = [
  (seed) => ({ ...doubling(), title: `${seed}` }),
  () => doubling(),
  (seed) => ({ type: Array(30_000).fill("string"), pattern: `^(a|b|c|d)*${seed}$` }),
  (seed) => ({
    type: "string",
    examples: Array.from({ length: 40_000 }, (_, index) => seed + index),
  }),
  (seed) => ({
    anyOf: Array.from({ length: 55 }, (_, index) => ({
      type: "string",
      minLength: index,
      maxLength: 1_000 + index + seed,
    })),
  }),
  (seed) => ({
    type: "object",
    properties: Object.fromEntries(
      Array.from({ length: 8_000 }, (_, index) => [`p${seed}-${index}`, { type: "string" }]),
    ),
    additionalProperties: { type: "string" },
  }),
  (seed) => ({ enum: Array.from({ length: 20_000 }, (_, index) => `v${seed}-${index}`) }),
  (seed) => ({
    anyOf: Array.from({ length: 400 }, (_, index) => ({
      type: "number",
      minimum: 0.123456789 + index + seed,
      maximum: 123456789.123 * (index + 1),
    })),
  }),
];

async function sendSchema(schema: object): Promise<number> {
  const format = { type: "json_schema", json_schema: { name: "x", schema } };
  const messages = [{ role: "user", content: "x" }];
  const body = { model: CHAT, messages, response_format: format, max_tokens: 1 };
  return (await call(`${baseUrl}/chat/completions`, { key: attacker, body })).status;
}

it("T28: hostile schemas stop no other request", { timeout: 900_000 }, async () => {
  for (const shape of SHAPES) await sendSchema(shape(-1)); // The first of each loads and compiles code.
  await timeVictim();
  const before = p99(await timeVictim());
  const memory = await residentBytes();
  await worstGapMs();
  const attacks = Array.from(
    { length: SCHEMAS },
    (_, index) => async () => sendSchema(SHAPES[index % SHAPES.length]?.(index) ?? {}),
  );
  const { times, statuses } = await timeBeside(attacks);
  const during = p99(times);
  const gap = await worstGapMs();
  await sleep(countOf({ short: 2_000, full: 60_000 }));
  const growth = (await residentBytes()) / memory - 1;
  const failures = statuses.filter((status) => status >= 500).length;
  await noteVerdict({
    promise: "T28",
    injected: `${statuses.length} hostile schemas of one key (${countStatuses(statuses)})`,
    counted: `worst pause of the front's event loop ${gap} ms; p99 of another key ${before.toFixed(1)} ms before, ${during.toFixed(1)} ms during; memory of the front ${(100 * growth).toFixed(1)} %; 5xx ${failures}`,
    holds:
      failures === 0 && gap <= GAP_MS && during <= SLOWER * before && growth <= GROWTH_FRACTION,
  });
  expect(failures).toBe(0);
  expect(gap).toBeLessThanOrEqual(GAP_MS);
  expect(during).toBeLessThanOrEqual(SLOWER * before);
  expect(growth).toBeLessThanOrEqual(GROWTH_FRACTION);
});

it("T28: a request of 3 KB in a loop slows no other caller", { timeout: 300_000 }, async () => {
  await timeVictim();
  const before = p99(await timeVictim());
  const statuses: number[] = [];
  let isTimed = false;
  const timing = timeVictim().finally(() => (isTimed = true));
  while (!isTimed) statuses.push(await sendSchema({ ...doubling(), title: `${statuses.length}` }));
  const during = p99(await timing);
  const failures = statuses.filter((status) => status >= 500).length;
  await noteVerdict({
    promise: "T28",
    injected: `one request of 3 KB, doubling allOf and $ref, ${statuses.length} times in a loop (${countStatuses(statuses)})`,
    counted: `p99 of GET /v1/models of another key ${before.toFixed(1)} ms before, ${during.toFixed(1)} ms during; 5xx ${failures}`,
    holds: failures === 0 && during <= SLOWER * before,
  });
  expect(failures).toBe(0);
  expect(during).toBeLessThanOrEqual(SLOWER * before);
});

const list = (item: string, count: number) => `[${`${item},`.repeat(count - 1)}${item}]`;
/** Bodies are written once: this process must not be what the victim waits for. */
const bodies = new Map<string, string>();
const bodyOf = (name: string, write: () => string): string => {
  const body = bodies.get(name) ?? write();
  bodies.set(name, body);
  return body;
};
/** 413 where the front hung up before it had all. */
const post = async (path: string, write: () => string): Promise<number> => {
  const body = bodyOf(`${path} ${write.toString()}`, write);
  const headers = { "content-type": "application/json" };
  const answer = call(`${baseUrl}${path}`, { body, key: attacker, headers });
  return await answer.then(
    ({ status }) => status,
    (error: unknown) => {
      const { code } = (error as { readonly cause?: { readonly code?: string } }).cause ?? {};
      if (code === "EPIPE" || code === "ECONNRESET" || code === "UND_ERR_SOCKET") return 413;
      throw error;
    },
  );
};
const names = (count: number) =>
  Array.from({ length: count }, (_, index) => `"${index}":1`).join(",");
const chat = (fields: string) => `{"model":"${CHAT}",${fields}}`;

const FLOODS: Readonly<Record<string, Attack>> = {
  "15 MB of numbers": () =>
    post("/embeddings", () => `{"model":"service-embed-1","input":${list("1", 7_800_000)}}`),
  "4 MB of numbers": () =>
    post("/embeddings", () => `{"model":"service-embed-1","input":${list("1", 2_000_000)}}`),
  "300 000 token ids": () =>
    post("/embeddings", () => `{"model":"service-embed-1","input":${list("1", 300_000)}}`),
  "4 MB of objects": () =>
    post("/embeddings", () => `{"model":"service-embed-1","input":${list("{}", 1_300_000)}}`),
  "names of fields": () => post("/chat/completions", () => `{${names(9_900)}}`),
  "3 MB of prompt": () =>
    post("/chat/completions", () =>
      chat(`"messages":[{"role":"user","content":"${"ab ".repeat(1_000_000)}"}]`),
    ),
  "100 000 messages": () =>
    post("/chat/completions", () => chat(`"messages":${list("{}", 100_000)}`)),
  "40 000 biases": () =>
    post("/chat/completions", () =>
      chat(`"messages":[{"role":"user","content":"x"}],"logit_bias":{${names(40_000)}}`),
    ),
  "unknown keys": async () =>
    (
      await call(`${baseUrl}/models`, {
        key: `fm_${String(Math.trunc(1e9 * Math.random())).padStart(43, "0")}`,
      })
    ).status,
  "the API's description without a key": async () =>
    (await call(`${new URL(baseUrl).origin}/openapi.json`)).status,
};

it("T29: floods of one caller slow nobody else", { timeout: 1_800_000 }, async () => {
  await timeVictim();
  const memory = await residentBytes();
  const alone: number[] = [];
  const floods = [];
  let failures = 0;
  for (const [name, attack] of Object.entries(FLOODS)) {
    alone.push(...(await timeVictim()));
    const beside = await timeBeside(Array.from({ length: EACH_ATTACK }, () => attack));
    floods.push({ name, ...beside });
    failures += beside.statuses.filter((status) => status >= 500).length;
  }
  const before = p99(alone);
  const worst = Math.max(...floods.map(({ times }) => p99(times) / before));
  const found = floods.map(
    ({ name, times, statuses }) =>
      `${name} ${(p99(times) / before).toFixed(1)} × (${countStatuses(statuses)})`,
  );
  const growth = (await residentBytes()) - memory;
  await noteVerdict({
    promise: "T29",
    injected: `each flood × ${EACH_ATTACK} and until another key's requests were timed: ${found.join("; ")}`,
    counted: `p99 of another key at most ${worst.toFixed(1)} × its ${before.toFixed(1)} ms; memory of the front +${Math.round(growth / 2 ** 20)} MB; 5xx ${failures}`,
    holds: failures === 0 && worst <= SLOWER && growth <= GROWTH_BYTES,
  });
  expect(failures).toBe(0);
  expect(worst).toBeLessThanOrEqual(SLOWER);
  expect(growth).toBeLessThanOrEqual(GROWTH_BYTES);
});

it("T33: a caller's text never becomes a special token", async () => {
  const shipped = async (file: string) =>
    JSON.parse(
      await readFile(new URL(`../../../models/${CHAT}/${file}`, import.meta.url), "utf8"),
    ) as Record<string, unknown>;
  const config = await shipped("tokenizer_config.json");
  const written = CHAT_TEMPLATES.map(({ source, tokens, plainTokens = [] }) => {
    const json = byteTokenizerJson();
    const first = Math.max(...Object.values(json.model.vocab)) + 1;
    const added = [...tokens, ...plainTokens].map((content, index) => ({
      id: first + index,
      content,
      special: index < tokens.length,
      normalized: false,
    }));
    return {
      config: { chat_template: source, bos_token: tokens[0] },
      tokenizer: createTextTokenizer({ ...json, added_tokens: [...json.added_tokens, ...added] }),
    };
  });
  const all = [
    ...written,
    { config, tokenizer: createTextTokenizer(await shipped("tokenizer.json"), config) },
  ];
  let texts = 0;
  let special = 0;
  for (const { config: own, tokenizer } of all) {
    const { addedTokens } = tokenizer;
    const template = createChatTemplate(own, { addedTokens });
    const countIn = (content: string) => {
      const { text, ...options } = template.render(
        [
          { role: "system", content },
          { role: "user", content, name: content },
        ],
        [],
      );
      return tokenizer.encode(text, options).ids.filter((id) => tokenizer.specialIds.has(id))
        .length;
    };
    const expected = countIn("hello");
    const contents = addedTokens.map(({ content }) => content);
    for (const one of [
      ...contents,
      ...contents.flatMap((a) => contents.map((b) => `${a} x ${b}`)),
      contents.join(""),
    ]) {
      texts += 1;
      special += Math.abs(countIn(one) - expected);
    }
  }
  await noteVerdict({
    promise: "T33",
    injected: `${texts} texts of special tokens in ${all.length} templates`,
    counted: `special tokens from text ${special}`,
    holds: special === 0,
  });
  expect(special).toBe(0);
});
