import { InvalidArgumentError } from "commander";
import type { Config } from "../config.js";
import { readMoment, readMonth } from "../core/time.js";
import { readGroups, USAGE_GROUPS, type UsageGroup } from "../core/usage.js";

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

/** A date, a time, or how long ago, as ISO 8601 in UTC. */
export function parseTime(text: string): string {
  const moment = readMoment(text, Date.now());
  if (moment !== undefined) return moment;
  throw new InvalidArgumentError(`must be a date, a time or e.g. 90m, 24h or 7d ago, got ${text}`);
}

/** Checked, and left as it is: `2026-11`. */
export function parseMonth(text: string): string {
  if (readMonth(text) !== undefined) return text;
  throw new InvalidArgumentError(`must be a month such as 2026-11, got ${text}`);
}

/** Words of a list with commas between them. */
export function parseGroups(text: string): readonly UsageGroup[] {
  const groups = readGroups(text);
  if (groups !== undefined) return groups;
  throw new InvalidArgumentError(`must be some of ${USAGE_GROUPS.join(",")}, got ${text}`);
}

/** The command was given what it does not take: exit code 2. The message says what, the value and the limit. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The environment, with the global options and these over it. */
export type ReadConfig = (overrides?: Partial<Config>) => Config;
