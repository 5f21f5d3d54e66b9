/**
 * How soon a job is wanted, as OpenAI's `service_tier` names it, in the order in which jobs are taken. Not the
 * tier of a clip or picture, which says what is made.
 */
export const SERVICE_TIERS = ["priority", "default", "flex"] as const;
export type ServiceTier = (typeof SERVICE_TIERS)[number];

/**
 * A queue's or a price's key with the service tier behind it: `video.m` of usual jobs, `video.m@flex` of those
 * of another tier.
 */
export function keyOfTier(key: string, serviceTier: ServiceTier = "default"): string {
  return serviceTier === "default" ? key : `${key}@${serviceTier}`;
}

/** What a request may say: `auto` is `default`. */
export const SERVICE_TIER_WORDS = ["auto", ...SERVICE_TIERS] as const;
