/** The tiers of video: interface specification, part 2. */
export const TIERS = {
  fast: { width: 1280, height: 720, sound: false },
  standard: { width: 1280, height: 720, sound: true },
  high: { width: 1920, height: 1080, sound: true },
} as const satisfies Record<string, Tier>;

export interface Tier {
  /** Longer side of the frame, in pixels. */
  readonly width: number;
  readonly height: number;
  readonly sound: boolean;
}

export type TierName = keyof typeof TIERS;

export const TIER_NAMES = ["fast", "standard", "high"] as const satisfies readonly TierName[];
