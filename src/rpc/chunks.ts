import { z } from "zod";
import type { Chunk } from "../core/events.js";
import type { Chunk as WireChunk } from "./gen/framemill/v1/Chunk.js";

/** A piece of an answer as it comes off the wire. */
export const wireChunk = z
  .object({ json: z.string().optional(), bytes: z.instanceof(Uint8Array).optional() })
  .transform(toChunk);

export function encodeChunk(piece: Chunk): WireChunk {
  return piece.type === "bytes"
    ? { bytes: Buffer.from(piece.bytes) }
    : { json: JSON.stringify(piece.value) };
}

function toChunk(
  wire: { readonly json?: string | undefined; readonly bytes?: Uint8Array | undefined },
  context: z.RefinementCtx,
): Chunk {
  if (wire.bytes !== undefined) return { type: "bytes", bytes: wire.bytes };
  try {
    return { type: "json", value: JSON.parse(wire.json ?? "") };
  } catch {
    context.addIssue("a chunk must be JSON or bytes");
    return z.NEVER;
  }
}
