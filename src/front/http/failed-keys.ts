import { isIPv6 } from "node:net";
import { LRUCache } from "lru-cache";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { JobError } from "../../core/errors.js";
import { type Caller, hashKey, type Keys, readKey } from "../ledger/index.js";

/** Refused keys of one address within a minute, before further ones are answered with 429. */
const MOST_FAILURES = 60;
const MINUTE_SECONDS = 60;
/** Keys that served lately: of an address with many failures only these are looked up without a wait. */
const MOST_KNOWN = 10_000;
/** Other keys of such addresses, whatever they are, that may wait to be looked up. */
const MOST_SUSPECTS = 64;

/** Who sends a request; `address` is the caller's own, as far as proxies tell it. */
export type Authenticate = (authorization: string | undefined, address: string) => Promise<Caller>;

/**
 * Authentication whose failures are limited by address. A valid key is always served: from an address
 * that has failed too often, one that was not seen lately only takes its turn behind the others.
 */
export function limitFailures(authenticate: Keys["authenticate"]): Authenticate {
  const failures = new RateLimiterMemory({ points: MOST_FAILURES, duration: MINUTE_SECONDS });
  const known = new LRUCache<string, true>({ max: MOST_KNOWN });
  let suspects = 0;
  let turn: Promise<unknown> = Promise.resolve();
  const takeTurn = async (look: () => Promise<Caller>, refusal: JobError): Promise<Caller> => {
    if (suspects >= MOST_SUSPECTS) throw refusal;
    suspects += 1;
    const looked = turn.then(look);
    turn = looked.catch(() => undefined);
    return await looked.finally(() => (suspects -= 1));
  };
  return async (authorization, address) => {
    const network = networkOf(address);
    const used = await failures.get(network);
    const refusal = isSpent(used) ? tooManyFailures(used) : undefined;
    const key = readKey(authorization);
    if (key === undefined && refusal !== undefined) throw refusal;
    const hash = key === undefined ? "" : hashKey(key).toString("hex");
    const look = async () => await authenticate(authorization);
    try {
      const isTrusted = refusal === undefined || known.has(hash);
      const caller = await (isTrusted ? look() : takeTurn(look, refusal));
      known.set(hash, true);
      return caller;
    } catch (error) {
      if (!(error instanceof JobError) || error.code !== "invalid_api_key") throw error;
      known.delete(hash);
      await failures.consume(network).catch(ignoreLimit);
      throw refusal ?? error;
    }
  };
}

function isSpent(used: RateLimiterRes | null): used is RateLimiterRes {
  return used !== null && used.consumedPoints >= MOST_FAILURES;
}

function tooManyFailures({ msBeforeNext }: RateLimiterRes): JobError {
  const message = `At most ${MOST_FAILURES} requests a minute without a valid API key are answered for an address.`;
  return new JobError("rate_limit_exceeded", message, { retryAfterSeconds: msBeforeNext / 1_000 });
}

/** The limiter rejects with its count where it is spent. */
function ignoreLimit(thrown: unknown): void {
  if (!(thrown instanceof RateLimiterRes)) throw thrown;
}

/** Who holds one IPv6 address holds 2^64 of them. */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address;
  const [head = "", tail] = address.replace(/%.*$/, "").split("::");
  const first = head.split(":").filter(Boolean);
  const last = (tail ?? "").split(":").filter(Boolean);
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => "0");
  const groups = [...first, ...zeros, ...last].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}
