import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Job } from "#framemill/core/job.js";
import { createMessageSigner, SIGNATURE } from "#framemill/queue/message.js";

/** What brokers of tests sign with. */
export const SIGNER = createMessageSigner({ secret: "the-worker-token-of-tests" });

/** Headers of a message that a front would have sent. */
export function signed(routingKey: string, body: Buffer) {
  return { [SIGNATURE]: SIGNER.sign(routingKey, body) };
}

/** Where the RabbitMQ half of the suite runs. `npm test` starts one and sets it. */
export function getAmqpUrl(): string {
  const url = process.env["AMQP_URL"];
  if (url === undefined)
    throw new Error(
      "AMQP_URL is not set: the RabbitMQ half of the queue suite has no broker to run on",
    );
  return url;
}

export function createJob(fields: Partial<Job> = {}): Job {
  return {
    id: `video_${randomUUID()}`,
    modality: "video",
    model: "test-motion-1",
    request: { prompt: "a lighthouse", seconds: 4 },
    expiresAtMs: 2_000_000_000_000,
    reportTo: "127.0.0.1:8081",
    ...fields,
  };
}

/** A routing key no other test uses. */
export function createRoutingKey(): string {
  return `video.test-${randomUUID()}`;
}

/** Names of its own for every suite: several may share the broker. */
export function createNamePrefix(): string {
  return `test-${randomUUID()}.`;
}

/** Waits until the claim holds; fails with its last word after `timeoutMs`. */
export async function until(
  claim: () => boolean | Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await claim())) {
    if (performance.now() > end) throw new Error(`not within ${timeoutMs} ms: ${claim.toString()}`);
    await sleep(10);
  }
}

/** A promise with its resolver: a handler that ends when the test says so. */
export function createGate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
