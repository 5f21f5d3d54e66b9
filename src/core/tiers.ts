/** The pricing tiers of video, as in the interface specification, part 2. */
export const TIERS = {
  fast: { width: 1280, height: 720, sound: false, microUsdPerSecond: 80_000 },
  standard: { width: 1280, height: 720, sound: true, microUsdPerSecond: 180_000 },
  high: { width: 1920, height: 1080, sound: true, microUsdPerSecond: 350_000 },
} as const satisfies Record<string, Tier>;

export interface Tier {
  /** Longer side of the frame, in pixels. */
  readonly width: number;
  readonly height: number;
  readonly sound: boolean;
  readonly microUsdPerSecond: number;
}

export type TierName = keyof typeof TIERS;

/** Frames a second of every clip. */
export const FRAME_RATE = 24;
