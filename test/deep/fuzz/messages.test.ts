import { once } from "node:events";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { type ChannelModel, connect } from "amqplib";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BrokerEvent } from "#framemill/queue/broker.js";
import { openBroker } from "#framemill/queue/index.js";
import { CONTENT_TYPE, encodeJob, MESSAGE_TYPE } from "#framemill/queue/message.js";
import { createTopology } from "#framemill/queue/topology.js";
import { proto } from "#framemill/rpc/proto.js";
import { createReporter } from "#framemill/rpc/reporter.js";
import { type Harness, startHarness, WORKER_TOKEN } from "../../support/front-harness.js";
import {
  createJob,
  createNamePrefix,
  createRoutingKey,
  getAmqpUrl,
  signed,
  SIGNER,
  until,
} from "../../support/queue-harness.js";
import { createArtifact } from "../../support/rpc-harness.js";
import { countOf } from "../chaos/verdicts.js";
import { edits, mutate } from "./mutate.js";
import { NAUGHTY } from "./naughty.js";
import { campaign } from "./run.js";

const TEN_MINUTES = 600_000;

describe("damaged messages of the queue", { timeout: TEN_MINUTES }, () => {
  let connection: ChannelModel;
  beforeAll(async () => void (connection = await connect(getAmqpUrl())));
  afterAll(async () => await connection?.close());

  it("are jobs or are buried, each of them, over one channel", async () => {
    const topology = createTopology({ namePrefix: createNamePrefix() });
    const namePrefix = topology.jobsExchange.replace(/jobs$/, "");
    const events: BrokerEvent[] = [];
    const onEvent = (event: BrokerEvent) => void events.push(event);
    const broker = await openBroker({
      amqpUrl: getAmqpUrl(),
      signer: SIGNER,
      namePrefix,
      onEvent,
    });
    const key = createRoutingKey();
    let taken = 0;
    const subscription = await broker.consume({ routingKeys: [key], prefetch: 4 }, async () => {
      taken += 1;
      return { type: "ack" };
    });
    await until(() => subscription.consuming);
    const channel = await connection.createConfirmChannel();
    const whole = encodeJob(createJob());
    const buried = () => events.filter((each) => each.type === "message-corrupted").length;
    let sent = 0;
    const word = fc.oneof(fc.constantFrom(...NAUGHTY), fc.string({ maxLength: 50 }));
    const short = word.map((text) => Buffer.from(text).subarray(0, 100).toString("latin1"));
    const type = fc.oneof({ weight: 9, arbitrary: fc.constant(MESSAGE_TYPE) }, short);
    const contentType = fc.oneof({ weight: 9, arbitrary: fc.constant(CONTENT_TYPE) }, short);
    await campaign({
      cases: fc.record({ edits, type, contentType, headers: fc.dictionary(short, short) }),
      count: { short: 60, full: 800 },
      check: async ({ edits: changes, ...properties }) => {
        const body = mutate(whole, changes);
        // Past the signature, or the decoder would never see it.
        const headers = { ...properties.headers, ...signed(key, body) };
        channel.publish(topology.jobsExchange, key, body, { ...properties, headers });
        await channel.waitForConfirms();
        sent += 1;
        await until(() => taken + buried() === sent);
      },
    });
    await until(
      async () => (await channel.checkQueue(topology.deadQueue)).messageCount === buried(),
    );
    expect(taken + buried()).toBe(sent);
    // Some open late, but each once.
    const opened = events.flatMap((each) =>
      each.type === "channel-open" ? [each.connection] : [],
    );
    expect(opened.length).toBe(new Set(opened).size);
    const others = events.filter((each) => !/^(message-corrupted|.*-open)$/.test(each.type));
    expect(others).toEqual([]);
    await channel.close();
    await subscription.stop();
    await broker.close();
  });
});

describe("damaged gRPC messages", { timeout: TEN_MINUTES }, () => {
  let harness: Harness;
  let session: ClientHttp2Session;
  beforeAll(async () => {
    harness = await startHarness("postgres");
    session = connectHttp2(`http://127.0.0.1:${harness.front.grpcPort}`);
    session.on("error", () => undefined);
  });
  afterAll(async () => {
    session?.destroy();
    await harness?.close();
  });

  const { service } = proto.framemill.v1.WorkerService;
  const lease = { jobId: "video_1", token: "7" };
  const cost = { prices: { videoSeconds: 1 }, amountMicroUsd: "4" };
  const usage = { gpuMilliseconds: "5", videoSeconds: 4 };
  const wire = createArtifact();
  const artifact = { ...wire, byteLength: String(wire.byteLength) };
  const frames = [
    frameOf(service.Claim.path, service.Claim.requestSerialize({ jobId: "x", workerId: "w" })),
    frameOf(service.Heartbeat.path, service.Heartbeat.requestSerialize({ lease, workerId: "w" })),
    frameOf(
      service.Report.path,
      service.Report.requestSerialize({ lease, sequence: "1", fraction: 0.5, stage: "steps" }),
    ),
    frameOf(
      service.Complete.path,
      service.Complete.requestSerialize({
        lease,
        usage,
        cost,
        artifacts: [artifact],
        outputJson: '{"frameCount":96}',
      }),
    ),
    frameOf(
      service.Fail.path,
      service.Fail.requestSerialize({ lease, code: "server_error", message: "m" }),
    ),
    frameOf(service.Release.path, service.Release.requestSerialize({ lease })),
  ];

  /** The status of a call with these bytes, or how its stream ended without one. */
  async function statusOf(path: string, bytes: Uint8Array): Promise<string> {
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
      authorization: `Bearer ${WORKER_TOKEN}`,
      "grpc-timeout": "5S",
    });
    let status = "none";
    const note = ({ "grpc-status": said }: { readonly "grpc-status"?: string | string[] }) => {
      if (said !== undefined) status = [said].flat().join();
    };
    stream
      .on("response", note)
      .on("trailers", note)
      .on("error", () => undefined);
    stream.resume();
    stream.end(bytes);
    await once(stream, "close");
    return status;
  }

  it("end in a status, and the server goes on", async () => {
    const statuses = new Map<string, number>();
    await campaign({
      cases: fc.record({ frame: fc.nat(frames.length - 1), edits: fc.option(edits) }),
      count: { short: 80, full: 1_000 },
      check: async ({ frame, edits: changes }) => {
        const { path = "", bytes = Buffer.alloc(0) } = frames[frame] ?? {};
        const status = await statusOf(path, changes === null ? bytes : mutate(bytes, changes));
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      },
    });
    process.stdout.write(`gRPC statuses: ${JSON.stringify(Object.fromEntries(statuses))}\n`);
    const total = [...statuses.values()].reduce((sum, count) => sum + count, 0);
    expect(total).toBe(countOf({ short: 80, full: 1_000 }));
    const reporter = createReporter({
      address: `127.0.0.1:${harness.front.grpcPort}`,
      token: WORKER_TOKEN,
    });
    expect(await reporter.claim("video_unknown", "w")).toEqual({ outcome: "already-done" });
    await reporter.close();
    expect(session.destroyed).toBe(false);
  });
});

/** A message with its five bytes of gRPC framing. */
function frameOf(path: string, message: Buffer) {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.byteLength, 1);
  return { path, bytes: Buffer.concat([head, message]) };
}
