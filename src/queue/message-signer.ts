import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import { CorruptedMessageError } from "./codec.js";

/** Header that says who wrote a message: `v1=` and the HMAC-SHA256 of routing key and body, hexadecimal. */
export const SIGNATURE = "framemill-signature";

/** Signs what fronts send, and tells it from what others sent. */
export interface MessageSigner {
  sign(routingKey: string, body: Buffer): string;
  /** Throws `CorruptedMessageError` for a message that no holder of the secret has signed. */
  verify(routingKey: string, body: Buffer, signature: unknown): void;
}

export interface MessageSignerOptions {
  /** What fronts and workers share: the worker token. */
  readonly secret: string;
  /** Takes messages without a signature, as fronts of before sent them; a wrong one is refused all the same. */
  readonly acceptUnsigned?: boolean;
}

export function createMessageSigner({
  secret,
  acceptUnsigned = false,
}: MessageSignerOptions): MessageSigner {
  // A key of its own (RFC 5869), so that no signature is made with the token itself.
  const key = Buffer.from(hkdfSync("sha256", secret, "", "framemill queue message v1", 32));
  const sign = (routingKey: string, body: Buffer): string =>
    `v1=${createHmac("sha256", key).update(`${routingKey}\n`).update(body).digest("hex")}`;
  return {
    sign,
    verify(routingKey, body, signature) {
      if (signature === undefined && acceptUnsigned) return;
      if (typeof signature !== "string")
        throw new CorruptedMessageError(
          `message has no ${SIGNATURE}: no front of this installation sent it, or one of a version that did not sign yet (ACCEPT_UNSIGNED)`,
        );
      if (!isSame(sign(routingKey, body), signature))
        throw new CorruptedMessageError(
          `message has a wrong ${SIGNATURE}: it was changed, or its sender has another WORKER_TOKEN`,
        );
    },
  };
}

function isSame(expected: string, given: string): boolean {
  const [left, right] = [Buffer.from(expected), Buffer.from(given)];
  return left.length === right.length && timingSafeEqual(left, right);
}
