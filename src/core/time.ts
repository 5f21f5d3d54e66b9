/** Milliseconds of Unix time with fractions: the same clock in every thread, and it never goes back. */
export function unixMs(): number {
  return performance.timeOrigin + performance.now();
}

const AGO = /^(\d+)(m|h|d)$/;
const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** ISO 8601 begins with a date; `Date.parse` would take `1` for a year. */
const DATE = /^\d{4}-\d{2}-\d{2}/;

/**
 * A date (its midnight, UTC), a time, or how long ago: `2026-11-01`, `2026-11-01T12:00Z`, `90m`, `24h`,
 * `7d`; as ISO 8601 in UTC. Undefined for anything else.
 */
export function readMoment(text: string, nowMs: number): string | undefined {
  const [, count, unit] = AGO.exec(text) ?? [];
  const isAgo = unit === "m" || unit === "h" || unit === "d";
  const atMs = isAgo ? nowMs - Number(count) * UNIT_MS[unit] : Date.parse(text);
  if (Number.isNaN(atMs) || !(isAgo || DATE.test(text))) return undefined;
  return new Date(atMs).toISOString();
}

const MONTH = /^(\d{4})-(0[1-9]|1[0-2])$/;

/** First moments (UTC, ISO 8601) of a month, `2026-11`, and of the one after it; undefined for anything else. */
export function readMonth(
  text: string,
): { readonly since: string; readonly until: string } | undefined {
  const [, year, month] = MONTH.exec(text) ?? [];
  if (year === undefined || month === undefined) return undefined;
  const first = (months: number) =>
    new Date(Date.UTC(Number(year), Number(month) - 1 + months)).toISOString();
  return { since: first(0), until: first(1) };
}
