import type { Allowance, Allowances } from "./limits.js";

export interface AnswerFacts {
  readonly requestId: string;
  readonly elapsedMs: number;
  readonly allowances: Allowances;
}

/** The headers of every answer, errors and event streams included. */
export function answerHeaders(facts: AnswerFacts): Record<string, string> {
  const { requests, tokens } = facts.allowances;
  return {
    "x-request-id": facts.requestId,
    "openai-processing-ms": String(Math.round(facts.elapsedMs)),
    "x-content-type-options": "nosniff",
    ...allowanceHeaders("requests", requests),
    ...allowanceHeaders("tokens", tokens),
  };
}

/** `12ms`, `59s`, `6m0s`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 1_000) return `${Math.round(durationMs)}ms`;
  const seconds = Math.ceil(durationMs / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

function allowanceHeaders(name: string, allowance: Allowance): Record<string, string> {
  return {
    [`x-ratelimit-limit-${name}`]: String(allowance.limit),
    [`x-ratelimit-remaining-${name}`]: String(allowance.remaining),
    [`x-ratelimit-reset-${name}`]: formatDuration(allowance.resetMs),
  };
}
