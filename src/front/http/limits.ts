import type { IncomingHttpHeaders } from "node:http";
import { isIPv6 } from "node:net";
import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { LRUCache } from "lru-cache";
import {
  type Database,
  type Project,
  type Caller,
  hashKey,
  type Keys,
  readKey,
  sql,
} from "../ledger/index.js";
import { isLoopback } from "../../config.js";
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
  /** Counts tokens against the project, with the next count or within a quarter of a second. */
  readonly takeTokens: (project: Pick<Project, "id">, count: number) => void;
  /** Counts what is left to count. */
  readonly close: () => Promise<void>;
}

const MINUTE_SECONDS = 60;
const WINDOW_MS = MINUTE_SECONDS * 1_000;
/** Projects whose counts one statement takes. */
const MOST_TOGETHER = 64;
const LINGER_MS = 250;

/** Fixed windows of a minute, counted in the database and so shared by every replica. */
export function createLimits(database: Database): Limits {
  /** Tokens that the database does not know of yet, by project. */
  const tokens = new Map<string, number>();
  const count = groupCommit(async (ids: readonly string[]) => {
    const takes = countEach(ids).map(([id, requests]) => {
      const take = { id, requests, tokens: tokens.get(id) ?? 0 };
      tokens.delete(id);
      return take;
    });
    const used = await countTogether(database, takes);
    return inOrder(ids, used);
  }, MOST_TOGETHER);
  const countTokens = async (): Promise<void> => {
    lingering = undefined;
    const takes = [...tokens].map(([id, left]) => ({ id, requests: 0, tokens: left }));
    tokens.clear();
    if (takes.length > 0) await countTogether(database, takes);
  };
  let lingering: NodeJS.Timeout | undefined;
  return {
    async takeRequest({ id, requestsPerMinute, tokensPerMinute }) {
      const used = await count(id);
      return {
        allowed: used.requests.points <= requestsPerMinute,
        requests: toAllowance(requestsPerMinute, used.requests),
        tokens: toAllowance(tokensPerMinute, used.tokens),
      };
    },
    takeTokens({ id }, taken) {
      tokens.set(id, (tokens.get(id) ?? 0) + taken);
      // An outage may forget a minute's tokens.
      lingering ??= setTimeout(() => void countTokens().catch(() => {}), LINGER_MS);
    },
    async close() {
      clearTimeout(lingering);
      await countTokens().catch(() => {});
    },
  };
}

interface Take {
  readonly id: string;
  readonly requests: number;
  readonly tokens: number;
}

/** What was used of an allowance. */
interface Used {
  readonly points: number;
  readonly resetMs: number;
}

interface ProjectUse {
  readonly requests: Used;
  readonly tokens: Used;
}

const NOTHING: Used = { points: 0, resetMs: 0 };

/** How often each stands in the list. */
function countEach(ids: readonly string[]): (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return [...counts];
}

/** Each request resolves to what was used up to it, as if they had come one by one. */
function inOrder(ids: readonly string[], used: ReadonlyMap<string, ProjectUse>): ProjectUse[] {
  const after = new Map(countEach(ids));
  return ids.map((id) => {
    const left = (after.get(id) ?? 1) - 1;
    after.set(id, left);
    const { requests = NOTHING, tokens = NOTHING } = used.get(id) ?? {};
    return { requests: { ...requests, points: requests.points - left }, tokens };
  });
}

interface CountRow extends Used {
  readonly key: string;
}

/** One statement for all projects, which locks their rows in one order. */
async function countTogether(
  db: Database,
  takes: readonly Take[],
): Promise<ReadonlyMap<string, ProjectUse>> {
  const counts = takes
    .flatMap((take) => KINDS.map((kind) => ({ key: `${kind}:${take.id}`, points: take[kind] })))
    .toSorted((one, other) => (one.key < other.key ? -1 : 1));
  const keys = counts.map(({ key }) => key);
  const points = counts.map((one) => one.points);
  const { rows } = await sql<CountRow>`
    WITH asked AS (
      SELECT key, points, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS at
      FROM unnest(${keys}::text[], ${points}::int[]) AS asked (key, points)
    ), counted AS (
      INSERT INTO rate_limits AS known (key, points, expire)
      SELECT key, points, at + ${WINDOW_MS}::int FROM asked WHERE points > 0
      ON CONFLICT (key) DO UPDATE SET
        points = excluded.points + CASE WHEN known.expire > excluded.expire - ${WINDOW_MS}::int
          THEN known.points ELSE 0 END,
        expire = CASE WHEN known.expire > excluded.expire - ${WINDOW_MS}::int
          THEN known.expire ELSE excluded.expire END
      RETURNING key, points, expire
    )
    SELECT key, used.points, greatest(0, used.expire - at)::int AS "resetMs"
    FROM asked JOIN (
      SELECT key, points, expire FROM counted
      UNION ALL SELECT key, points, expire FROM rate_limits
      WHERE key = ANY(${keys}::text[]) AND key NOT IN (SELECT key FROM counted)
    ) AS used USING (key) WHERE used.expire > at`.execute(db);
  const found = new Map(rows.map((row) => [row.key, row]));
  const usedOf = (kind: (typeof KINDS)[number], id: string) =>
    found.get(`${kind}:${id}`) ?? NOTHING;
  return new Map(
    takes.map(({ id }) => [id, { requests: usedOf("requests", id), tokens: usedOf("tokens", id) }]),
  );
}

const KINDS = ["requests", "tokens"] as const;

export function fullAllowance(limit: number): Allowance {
  return { limit, remaining: limit, resetMs: 0 };
}

function toAllowance(limit: number, { points, resetMs }: Used): Allowance {
  return { limit, remaining: Math.max(0, limit - points), resetMs };
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
export type Authenticate = (headers: IncomingHttpHeaders, address: string) => Promise<Caller>;

/**
 * Takes every program on this machine for `caller`, whatever key it sends. A page in a browser is none: its
 * browser names its origin or its site, or, where its own name was made to lead here, another host.
 */
export function admitPrograms(caller: Caller): Authenticate {
  const refuse = (rule: string, value: string): never => {
    const got = JSON.stringify(value.slice(0, 64));
    const message = `--no-limits serves programs on this machine, no web pages: ${rule}, got ${got}`;
    throw new JobError("permission_denied", message);
  };
  return async ({ origin, host = "", "sec-fetch-site": site }) => {
    if (origin !== undefined) refuse("Origin must be left out", origin);
    // What a page shows or links to comes without an origin.
    if (site !== undefined) refuse("Sec-Fetch-Site must be left out", site);
    const name = host.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");
    if (!isLoopback({ host: name })) refuse("Host must be this machine", host);
    return caller;
  };
}

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
  return async ({ authorization }, address) => {
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
