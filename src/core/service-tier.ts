/**
 * How soon a job is wanted, as OpenAI's `service_tier` names it, in the order in which jobs are taken. Not the
 * tier of a clip or picture, which says what is made.
 */
export const SERVICE_TIERS = ["priority", "default", "flex"] as const;
export type ServiceTier = (typeof SERVICE_TIERS)[number];

/** What a request may say: `auto` is `default`. */
export const SERVICE_TIER_WORDS = ["auto", ...SERVICE_TIERS] as const;
