import { InvalidArgumentError } from "commander";

export function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new InvalidArgumentError(`must be a whole number above 0, got ${text}`);
}

export function parseWhole(text: string): number {
  const count = Number(text);
  if (text !== "" && Number.isSafeInteger(count) && count >= 0) return count;
  throw new InvalidArgumentError(`must be a whole number from 0 up, got ${text}`);
}

/** Rows of one page. */
export function parsePage(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 1_000) return count;
  throw new InvalidArgumentError(`must be 1 to 1000, got ${text}`);
}

export function parseAmount(text: string): number {
  const amount = Number(text);
  if (Number.isFinite(amount) && amount > 0) return amount;
  throw new InvalidArgumentError(`must be a number above 0, got ${text}`);
}

export function parseDollars(text: string): number | null {
  return text === "none" ? null : parseAmount(text);
}

export function parsePort(text: string): number {
  const port = Number(text);
  if (text !== "" && Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError(`must be a port, 0 to 65535, got ${text}`);
}

const AGO = /^(\d+)(m|h|d)$/;
const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A date, a time, or how long ago: `2026-11-01`, `2026-11-01T12:00Z`, `90m`, `24h`, `7d`; as ISO 8601 in UTC. */
export function parseTime(text: string): string {
  const [, count, unit] = AGO.exec(text) ?? [];
  const atMs =
    unit === "m" || unit === "h" || unit === "d"
      ? Date.now() - Number(count) * UNIT_MS[unit]
      : Date.parse(text);
  if (!Number.isNaN(atMs)) return new Date(atMs).toISOString();
  throw new InvalidArgumentError(`must be a date, a time or e.g. 90m, 24h or 7d ago, got ${text}`);
}
