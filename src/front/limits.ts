import { CompiledQuery } from "kysely";
import { RateLimiterPostgres, type RateLimiterRes } from "rate-limiter-flexible";
import type { Database } from "./database.js";
import type { Project } from "./keys.js";

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

/** Fixed windows of a minute, counted in the database and so shared by every replica. */
export function createLimits(database: Database): Limits {
  const requests = createCounter(database, "requests");
  const tokens = createCounter(database, "tokens");
  return {
    async takeRequest({ id, requestsPerMinute, tokensPerMinute }) {
      const [taken, used] = await Promise.all([requests.consume(id, 1), tokens.get(id)]);
      return {
        allowed: taken.consumedPoints <= requestsPerMinute,
        requests: toAllowance(requestsPerMinute, taken),
        tokens: toAllowance(tokensPerMinute, used),
      };
    },
    async takeTokens({ id, tokensPerMinute }, count) {
      return (await tokens.consume(id, count)).consumedPoints <= tokensPerMinute;
    },
  };
}

export function fullAllowance(limit: number): Allowance {
  return { limit, remaining: limit, resetMs: 0 };
}

function toAllowance(limit: number, used: RateLimiterRes | null): Allowance {
  if (used === null) return fullAllowance(limit);
  const remaining = Math.max(0, limit - used.consumedPoints);
  return { limit, remaining, resetMs: Math.max(0, used.msBeforeNext) };
}

/** One statement a count, on Postgres and PGlite alike: the limiter's client is the database itself. */
function createCounter({ kysely }: Database, keyPrefix: string): RateLimiterPostgres {
  const storeClient = {
    async query({ text, values }: { readonly text: string; readonly values: readonly unknown[] }) {
      const { rows } = await kysely.executeQuery(CompiledQuery.raw(text, [...values]));
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
