import { JobError } from "../../core/errors.js";

export interface PageQuery {
  readonly limit: number;
  readonly order: "asc" | "desc";
  /** Id of the last object of the page before. */
  readonly after: string | undefined;
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/** The query string of a list request, as it came. */
export interface RawPageQuery {
  readonly limit?: unknown;
  readonly order?: unknown;
  readonly after?: unknown;
}

export function parsePage({ limit, order, after }: RawPageQuery): PageQuery {
  return { limit: parseLimit(limit), order: parseOrder(order), after: parseAfter(after) };
}

/** A list answer; the page was read one longer to know whether more follow. */
export function renderPage(objects: readonly Record<string, unknown>[], limit: number) {
  const data = objects.slice(0, limit);
  return {
    object: "list",
    data,
    first_id: data[0]?.["id"] ?? null,
    last_id: data.at(-1)?.["id"] ?? null,
    has_more: objects.length > limit,
  };
}

function parseLimit(value: unknown): number {
  if (value === undefined) return DEFAULT_LIMIT;
  const limit = typeof value === "string" && /^\d{1,3}$/.test(value) ? Number(value) : 0;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new JobError("invalid_value", `limit must be 1 to ${MAX_LIMIT}`, { param: "limit" });
}

function parseOrder(value: unknown): PageQuery["order"] {
  if (value === undefined) return "desc";
  if (value === "asc" || value === "desc") return value;
  throw new JobError("invalid_value", "order must be asc or desc", { param: "order" });
}

function parseAfter(value: unknown): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw new JobError("invalid_value", "after must be one id", { param: "after" });
}
