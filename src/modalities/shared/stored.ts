import { z } from "zod";

/** Schemas of what several modalities store of a request. */

/** A file that came with the request, in the artifact store. */
export const artifact = z.object({
  id: z.string(),
  variant: z.string(),
  mediaType: z.string(),
  byteLength: z.int().nonnegative(),
  sha256: z.string(),
});

/** `metadata` as its caller sent it. */
export const metadata = z.record(z.string(), z.string()).readonly().nullable();
