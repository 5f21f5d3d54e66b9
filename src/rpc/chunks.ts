import { z } from "zod";
import type { Chunk } from "../core/events.js";
import type { Units } from "../core/usage.js";
import { wireUnits } from "./wire-units.js";
import type { Chunk as WireChunk } from "./gen/framemill/v1/Chunk.js";

/** A piece of an answer as it comes off the wire. */
export const wireChunk = z
  .object({
    json: z.string().optional(),
    bytes: z.instanceof(Uint8Array).optional(),
    units: wireUnits.nullish(),
  })
  .transform(toChunk);

export function encodeChunk({ units, ...piece }: Chunk): WireChunk {
  const counted = units === undefined ? {} : { units };
  return piece.type === "bytes"
    ? { bytes: Buffer.from(piece.bytes), ...counted }
    : { json: JSON.stringify(piece.value), ...counted };
}

interface SentChunk {
  readonly json?: string | undefined;
  readonly bytes?: Uint8Array | undefined;
  readonly units?: Units | null | undefined;
}

function toChunk(wire: SentChunk, context: z.RefinementCtx): Chunk {
  const counted = wire.units ? { units: wire.units } : {};
  if (wire.bytes !== undefined) return { type: "bytes", bytes: wire.bytes, ...counted };
  try {
    return { type: "json", value: JSON.parse(wire.json ?? ""), ...counted };
  } catch {
    context.addIssue("a chunk must be JSON or bytes");
    return z.NEVER;
  }
}
