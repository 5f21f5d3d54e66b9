import { CompiledQuery } from "kysely";
import { RateLimiterPostgres, type RateLimiterRes } from "rate-limiter-flexible";
import type { Database, Project } from "../ledger/index.js";
import { groupCommit } from "../../core/async/group-commit.js";

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

/** One statement a project; each take is told what was used up to it, as if they had come one by one. */
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
