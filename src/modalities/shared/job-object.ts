import { z } from "zod";
import type { JobView } from "../../core/modality.js";
import { SERVICE_TIERS } from "../../core/service-tier.js";
import type { UnitName } from "../../core/usage.js";

const unixSeconds = z.int().nullable().describe("Unix time in seconds");

export const serviceTierField = z.enum(SERVICE_TIERS);

/** Fields before a modality's own in the public object of a polled job. */
const state = {
  model: z.string(),
  service_tier: serviceTierField,
  status: z.enum(["queued", "in_progress", "completed", "failed"]),
  progress: z.int().min(0).max(100),
  stage: z.string().nullable().describe("what is being done while in progress"),
  created_at: z.int(),
  started_at: unixSeconds,
  completed_at: unixSeconds,
  expires_at: unixSeconds,
};

/** Fields after them. */
const outcome = {
  error: z.object({ code: z.string(), message: z.string() }).meta({ id: "JobFailure" }).nullable(),
  queue_position: z.int().nullable(),
  eta_seconds: z.int().nullable(),
  cost: z
    .object({
      currency: z.literal("usd"),
      per_second: z.number(),
      amount: z.number().describe("quoted at creation"),
      final: z
        .number()
        .nullable()
        .describe("charged; null until the job has ended, 0 when it failed"),
    })
    .meta({ id: "JobCost" }),
};

/** Length of what was asked for, in the type in which it was: clients of OpenAI's send and read strings. */
export function secondsField(length: z.ZodInt) {
  return z.union([length, z.string()]).describe("a string where it was sent as one");
}

export function renderSeconds(request: {
  readonly seconds: number;
  readonly secondsAsText?: boolean;
}): number | string {
  return request.secondsAsText === true ? String(request.seconds) : request.seconds;
}

/** Schema of a polled job's public object, around the modality's own fields. */
export function jobObject<Name extends string, Own extends z.core.$ZodLooseShape>(
  name: Name,
  own: Own,
) {
  const id = z.string().describe(`${name}_ and 32 hexadecimal digits`);
  return z.object({ id, object: z.literal(name), ...state, ...own, ...outcome });
}

/** What the object says of every job alike; `unit` is what a second of its price is counted in. */
export function renderJob<Name extends string, Own extends object>(
  job: JobView,
  { object, own, unit }: { readonly object: Name; readonly own: Own; readonly unit: UnitName },
) {
  return {
    id: job.id,
    object,
    model: job.model,
    service_tier: job.serviceTier,
    status: job.state,
    progress: job.progress,
    stage: job.stage,
    created_at: toUnixSeconds(job.createdAtMs),
    started_at: job.startedAtMs === null ? null : toUnixSeconds(job.startedAtMs),
    completed_at: job.completedAtMs === null ? null : toUnixSeconds(job.completedAtMs),
    expires_at: job.expiresAtMs === null ? null : toUnixSeconds(job.expiresAtMs),
    ...own,
    error: job.failure === null ? null : { code: job.failure.code, message: job.failure.message },
    queue_position: job.queuePosition,
    eta_seconds: job.etaSeconds,
    cost: {
      currency: "usd" as const,
      per_second: (job.quote.prices[unit] ?? 0) / 1_000_000,
      amount: toUsd(job.quote.amountNanoUsd),
      final: job.chargedNanoUsd === null ? null : toUsd(job.chargedNanoUsd),
    },
  };
}

function toUnixSeconds(unixMs: number): number {
  return Math.floor(unixMs / 1_000);
}

function toUsd(nanoUsd: number): number {
  return nanoUsd / 1_000_000_000;
}
