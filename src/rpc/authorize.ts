import { createHash, timingSafeEqual } from "node:crypto";
import {
  type Metadata,
  ResponderBuilder,
  ServerInterceptingCall,
  type ServerInterceptor,
  ServerListenerBuilder,
  status,
} from "@grpc/grpc-js";

/** Services a probe may ask without a token. */
const OPEN_PATHS = /^\/grpc\.health\.v1\.Health\//;

/** Refuses every call without the token, before its message is read. */
export function createAuthorizer(token: string): ServerInterceptor {
  const expected = digest(`Bearer ${token}`);
  return (method, call) => {
    const listener = new ServerListenerBuilder()
      .withOnReceiveMetadata((metadata, next) => {
        if (OPEN_PATHS.test(method.path) || matches(metadata, expected)) next(metadata);
        else
          call.sendStatus({
            code: status.UNAUTHENTICATED,
            details: "wrong or missing worker token",
          });
      })
      .build();
    return new ServerInterceptingCall(
      call,
      new ResponderBuilder().withStart((next) => next(listener)).build(),
    );
  };
}

/** Digests have one length, so the comparison tells nothing of the token's. */
function matches(metadata: Metadata, expected: Buffer): boolean {
  return timingSafeEqual(digest(String(metadata.get("authorization")[0] ?? "")), expected);
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
