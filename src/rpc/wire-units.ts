import { z } from "zod";
import type { Units } from "../core/usage.js";
import { integer } from "./wire.js";

const quantity = z.number().nonnegative();

/** Counted units as they come off the wire. */
export const unitFields = {
  inputTokens: integer.optional(),
  outputTokens: integer.optional(),
  images: integer.optional(),
  audioSeconds: quantity.optional(),
  videoSeconds: quantity.optional(),
  characters: integer.optional(),
  searches: integer.optional(),
};

export const wireUnits = z.object(unitFields).transform(withoutAbsent);

/** Drops units that were not sent: an absent unit and 0 are different things. */
export function withoutAbsent(units: Readonly<Record<string, number | undefined>>): Units {
  return Object.fromEntries(Object.entries(units).filter(([, value]) => value !== undefined));
}
