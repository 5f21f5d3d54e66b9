import { createHash } from "node:crypto";
import { JobError } from "../core/errors.js";
import { decodeJob, type MessageFormat } from "./codec.js";
import type { MessageSigner } from "./message-signer.js";

/** A message that the broker has put aside, and why. */
export interface DeadLetterSummary {
  /** Of the message, the same at every look: 32 hexadecimal digits. */
  readonly id: string;
  readonly routingKey: string;
  /** Null where the message cannot be read. */
  readonly jobId: string | null;
  /** RabbitMQ's word: `rejected`, `delivery_limit`, `maxlen`, `expired`. */
  readonly reason: string;
  /** Why no worker takes it for a job; null where one would. */
  readonly fault: string | null;
  /** ISO 8601; null where the broker does not say. */
  readonly diedAt: string | null;
  readonly byteLength: number;
}

/** The dead-letter queue, for an operator. At most the 1 000 oldest messages are looked at. */
export interface DeadLetters {
  /** Oldest first; they stay where they are. */
  list(limit: number): Promise<DeadLetterSummary[]>;
  /** Puts a message back into its job queue; false where it is not there. Throws `invalid_value` for one that no worker would take. */
  replay(id: string): Promise<boolean>;
  /** Forgets a message; false where it is not there. */
  drop(id: string): Promise<boolean>;
}

/** What is needed of a message to tell of it. */
export interface DeadMessage {
  readonly routingKey: string;
  readonly body: Buffer;
  readonly format: MessageFormat;
  readonly signature: unknown;
  readonly reason: string;
  readonly diedAt: Date | null;
}

export function summariseDeadLetter(
  signer: MessageSigner,
  message: DeadMessage,
): DeadLetterSummary {
  const { routingKey, body, reason, diedAt } = message;
  const read = readJob(signer, message);
  return {
    id: idOf(message),
    routingKey,
    jobId: read.jobId,
    reason,
    fault: read.fault,
    diedAt: diedAt?.toISOString() ?? null,
    byteLength: body.byteLength,
  };
}

/** Throws `invalid_value` for a message that no worker would take. */
export function requireJob(signer: MessageSigner, message: DeadMessage): void {
  const { fault } = readJob(signer, message);
  if (fault !== null)
    throw new JobError("invalid_value", `a message that is no job cannot be replayed: ${fault}`);
}

/** Of its content, so that it needs no place in the message. */
export function idOf({ routingKey, body }: Pick<DeadMessage, "routingKey" | "body">): string {
  return createHash("sha256").update(`${routingKey}\n`).update(body).digest("hex").slice(0, 32);
}

function readJob(signer: MessageSigner, { routingKey, body, signature, format }: DeadMessage) {
  try {
    signer.verify(routingKey, body, signature);
    return { jobId: decodeJob(body, format).id, fault: null };
  } catch (error) {
    return { jobId: null, fault: error instanceof Error ? error.message : String(error) };
  }
}
