import { isIPv6 } from "node:net";
import { RateLimiterPostgres, RateLimiterRes, RateLimiterMemory } from "rate-limiter-flexible";
import { LRUCache } from "lru-cache";
import {
  type Database,
  type Project,
  type Caller,
  hashKey,
  type Keys,
  readKey,
} from "../ledger/index.js";
import { groupCommit } from "../../core/async/group-commit.js";
import { JobError } from "../../core/errors.js";

/** What is left of one allowance in the current minute. */
export interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  /** Milliseconds until the allowance is whole again. */
  readonly resetMs: number;
}

export interface Allowances {
  readonly requests: Allowance;
  readonly tokens: Allowance;
}

export interface Limits {
  /** Counts one request against the project. */
  readonly takeRequest: (project: Project) => Promise<Allowances & { readonly allowed: boolean }>;
  /** Counts tokens against the project; false when the minute's allowance is used up. */
  readonly takeTokens: (project: Project, count: number) => Promise<boolean>;
}

const MINUTE_SECONDS = 60;
/** The limiter only counts: each project has its own limit, so the comparison is made here. */
const UNLIMITED = 2 ** 31 - 1;

/** Calls that share their counting. */
const MOST_TOGETHER = 64;

/** Fixed windows of a minute, counted in the database and so shared by every replica. */
export function createLimits(database: Database): Limits {
  const requests = createCounter(database, "requests");
  const tokens = createCounter(database, "tokens");
  const takeRequest = groupCommit(countingTogether(requests), MOST_TOGETHER);
  const takeTokens = groupCommit(countingTogether(tokens), MOST_TOGETHER);
  const readTokens = groupCommit(async (ids: readonly string[]) => {
    const known = await eachOnce(ids, async (id) => ({ used: await tokens.get(id) }));
    return ids.map((id) => known.get(id) ?? { used: null });
  }, MOST_TOGETHER);
  return {
    async takeRequest({ id, requestsPerMinute, tokensPerMinute }) {
      const [taken, { used }] = await Promise.all([takeRequest({ id, count: 1 }), readTokens(id)]);
      return {
        allowed: taken.consumedPoints <= requestsPerMinute,
        requests: toAllowance(requestsPerMinute, taken),
        tokens: toAllowance(tokensPerMinute, used),
      };
    },
    async takeTokens({ id, tokensPerMinute }, count) {
      return (await takeTokens({ id, count })).consumedPoints <= tokensPerMinute;
    },
  };
}

interface Take {
  readonly id: string;
  readonly count: number;
}

/** What was used of an allowance after one take. */
type Used = Pick<RateLimiterRes, "consumedPoints" | "msBeforeNext">;

/** One statement a project; each take resolves to what was used up to it, as if they had come one by one. */
function countingTogether(counter: RateLimiterPostgres) {
  return async (takes: readonly Take[]): Promise<Used[]> => {
    const sums = new Map<string, number>();
    const upTo = takes.map(({ id, count }) => {
      const sum = (sums.get(id) ?? 0) + count;
      sums.set(id, sum);
      return sum;
    });
    const ids = takes.map(({ id }) => id);
    const counted = await eachOnce(ids, (id) => counter.consume(id, sums.get(id) ?? 0));
    return takes.map(({ id }, index) => {
      const { consumedPoints = 0, msBeforeNext = 0 } = counted.get(id) ?? {};
      const after = (sums.get(id) ?? 0) - (upTo[index] ?? 0);
      return { consumedPoints: consumedPoints - after, msBeforeNext };
    });
  };
}

/** Results by id, each asked for once. */
async function eachOnce<Result>(
  ids: readonly string[],
  ask: (id: string) => Promise<Result>,
): Promise<Map<string, Result>> {
  const unique = [...new Set(ids)];
  const results = await Promise.all(unique.map(async (id) => [id, await ask(id)] as const));
  return new Map(results);
}

export function fullAllowance(limit: number): Allowance {
  return { limit, remaining: limit, resetMs: 0 };
}

function toAllowance(limit: number, used: Used | null): Allowance {
  if (used === null) return fullAllowance(limit);
  const remaining = Math.max(0, limit - used.consumedPoints);
  return { limit, remaining, resetMs: Math.max(0, used.msBeforeNext) };
}

/** One statement a count, on Postgres and PGlite alike: the limiter's client is the database itself. */
function createCounter(db: Database, keyPrefix: string): RateLimiterPostgres {
  const storeClient = {
    async query({ text, values }: { readonly text: string; readonly values: readonly unknown[] }) {
      const { rows } = await db.query(text, values);
      return { rows, rowCount: rows.length };
    },
  };
  return new RateLimiterPostgres({
    storeClient,
    storeType: "pool",
    tableName: "rate_limits",
    tableCreated: true,
    clearExpiredByTimeout: false,
    keyPrefix,
    points: UNLIMITED,
    duration: MINUTE_SECONDS,
  });
}

/** Bounds the event streams and waits that one project has open at this front. */
export interface WatchLimit {
  /** Counts one until `signal` aborts. Throws `rate_limit_exceeded` where there are too many. */
  take(projectId: string, signal: AbortSignal): void;
}

export function createWatchLimit(most: number): WatchLimit {
  const open = new Map<string, number>();
  return {
    take(projectId, signal) {
      const count = open.get(projectId) ?? 0;
      if (count >= most) {
        const message = `At most ${most} event streams and waits of a project may be open at once.`;
        throw new JobError("rate_limit_exceeded", message);
      }
      if (signal.aborted) return;
      open.set(projectId, count + 1);
      const release = () => {
        const left = (open.get(projectId) ?? 1) - 1;
        if (left > 0) open.set(projectId, left);
        else open.delete(projectId);
      };
      signal.addEventListener("abort", release, { once: true });
    },
  };
}

/** Refused keys of one address within a minute, before further ones are answered with 429. */
const MOST_FAILURES = 60;
/** Keys that served lately: of an address with many failures only these are looked up without a wait. */
const MOST_KNOWN = 10_000;
/** Other keys of such addresses, whatever they are, that may wait to be looked up. */
const MOST_SUSPECTS = 64;

/** Who sends a request; `address` is the caller's own, as far as the proxies name it. */
export type Authenticate = (authorization: string | undefined, address: string) => Promise<Caller>;

/**
 * Authentication whose failures are limited by address. A valid key is always served: from an address
 * that has failed too often, one that was not seen lately is looked up after those that came before it.
 */
export function limitFailures(authenticate: Keys["authenticate"]): Authenticate {
  const failures = new RateLimiterMemory({ points: MOST_FAILURES, duration: MINUTE_SECONDS });
  const known = new LRUCache<string, true>({ max: MOST_KNOWN });
  let suspects = 0;
  let last: Promise<unknown> = Promise.resolve();
  const lookInOrder = async (look: () => Promise<Caller>, refusal: JobError): Promise<Caller> => {
    if (suspects >= MOST_SUSPECTS) throw refusal;
    suspects += 1;
    const looked = last.then(look);
    last = looked.catch(() => undefined);
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
      const caller = await (isTrusted ? look() : lookInOrder(look, refusal));
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
