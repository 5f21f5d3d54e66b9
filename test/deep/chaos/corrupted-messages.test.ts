import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChannelModel, connect } from "amqplib";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  CONTENT_TYPE,
  encodeJob,
  MAX_MESSAGE_BYTES,
  MESSAGE_TYPE,
} from "#framemill/queue/message.js";
import { createTopology } from "#framemill/queue/topology.js";
import { createPostgres, dropPostgres, WORKER_TOKEN } from "../../support/front-harness.js";
import { createJob, getAmqpUrl, signed, until } from "../../support/queue-harness.js";
import { type ServiceProcesses, startApart } from "../../support/service-harness.js";
import { countOf, noteVerdict } from "./verdicts.js";

const MODEL = "service-moderate-1";
const CORRUPTED = countOf({ short: 200, full: 5_000 });
const GOOD = countOf({ short: 20, full: 200 });
const SEED = Number(process.env["CHAOS_SEED"] ?? 1);
const topology = createTopology();

let folder: string;
let databaseUrl: string;
let service: ServiceProcesses;
let connection: ChannelModel;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-messages-"));
  databaseUrl = await createPostgres();
  const urls = { AMQP_URL: getAmqpUrl(), DATABASE_URL: databaseUrl };
  service = await startApart(folder, {
    ...urls,
    MODELS: MODEL,
    REQUESTS_PER_MINUTE: "100000",
    WORKER_TOKEN,
  });
  connection = await connect(getAmqpUrl());
});
afterAll(async () => {
  await connection?.close();
  await service?.stop();
  await dropPostgres(databaseUrl);
  await rm(folder, { recursive: true, force: true });
});

interface Message {
  readonly body: Buffer;
  readonly type: string;
  readonly contentType: string;
}

const format = { type: MESSAGE_TYPE, contentType: CONTENT_TYPE };
const job = createJob({ modality: "moderation", model: MODEL, request: { inputs: ["x"] } });
const whole = encodeJob(job);
const withBody = (body: Buffer | string): Message => ({ ...format, body: Buffer.from(body) });

/** Each of them can be no job, by construction and not by what the decoder says. */
const corrupted: fc.Arbitrary<Message> = fc.oneof(
  fc.nat(whole.byteLength - 1).map((end) => withBody(whole.subarray(0, end))),
  fc.nat(whole.byteLength).map((at) => {
    const bytes = [whole.subarray(0, at), Buffer.from([0xff]), whole.subarray(at)];
    return withBody(Buffer.concat(bytes));
  }),
  fc.constantFrom(...Object.keys(job)).map((name) => {
    const { [name]: _, ...rest } = { ...job } as Record<string, unknown>;
    // What a request may be is the modality's to say: the codec takes any.
    return withBody(JSON.stringify(name === "request" ? { ...rest, id: 1 } : rest));
  }),
  fc
    .constantFrom("id", "modality", "model", "expiresAtMs", "reportTo")
    .map((name) => withBody(JSON.stringify({ ...job, [name]: { not: "this" } }))),
  fc.constant(withBody(JSON.stringify({ ...job, reportTo: "" }))),
  fc.constantFrom("null", "[]", "7", '"job"', "[".repeat(9_999)).map(withBody),
  fc.nat(9_999).map((more) => withBody(`"${"x".repeat(MAX_MESSAGE_BYTES + more)}"`)),
  fc
    .constantFrom("framemill.job.v2", "", "job")
    .map((type) => ({ type, contentType: CONTENT_TYPE, body: whole })),
  fc
    .constantFrom("text/plain", "", "application/xml")
    .map((contentType) => ({ type: MESSAGE_TYPE, contentType, body: whole })),
);

it(
  "T14: buries every corrupted message, answers every good request and restarts nothing",
  { timeout: 600_000 },
  async () => {
    const pid = service.inferencePid();
    const channel = await connection.createConfirmChannel();
    const buried = new Set<unknown>();
    await channel.consume(
      topology.deadQueue,
      (message) => void buried.add(message?.properties.messageId),
      { noAck: true },
    );
    const sent = fc.sample(corrupted, { numRuns: CORRUPTED, seed: SEED });
    const ids = sent.map((_, index) => `corrupted-${SEED}-${index}`);
    const { client } = service;
    const key = `moderation.${MODEL}`;
    // The queue of a kind of work may come with its first job; before that, nothing would carry these.
    await client.moderations.create({ model: MODEL, input: "the first sentence" });
    let answered = 1;
    const returned: unknown[] = [];
    channel.on("return", ({ properties }) => void returned.push(properties.messageId));
    const every = Math.ceil(CORRUPTED / GOOD);
    for (const [index, { body, ...properties }] of sent.entries()) {
      const headers = signed(key, body);
      const messageId = ids[index] ?? "";
      const options = { ...properties, headers, messageId, persistent: true, mandatory: true };
      channel.publish(topology.jobsExchange, key, body, options);
      if (index % every !== 0) continue;
      await client.moderations.create({ model: MODEL, input: `a calm sentence ${index}` });
      answered += 1;
    }
    await channel.waitForConfirms();
    expect(returned).toEqual([]);
    const dead = () => ids.filter((id) => buried.has(id)).length;
    await until(() => dead() === CORRUPTED, 60_000).catch(() => undefined);
    await client.moderations.create({ model: MODEL, input: "still here" });
    const restarts = service.inferencePid() === pid ? 0 : 1;
    await channel.close();
    await noteVerdict({
      promise: "T14",
      injected: `${CORRUPTED} corrupted messages among ${answered + 1} good requests, seed ${SEED}`,
      counted: `dead-lettered ${dead()}; answered ${answered + 1}; restarts ${restarts}`,
      holds: dead() === CORRUPTED && restarts === 0,
    });
    expect([dead(), restarts]).toEqual([CORRUPTED, 0]);
  },
);
