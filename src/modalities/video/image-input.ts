import { z } from "zod";
import { JobError } from "../../core/errors.js";
import { describe } from "../shared/request-body.js";

/** A picture as the caller sent it: its bytes, or the data URL that carries them. */
export type ImageInput = { readonly bytes: Uint8Array } | { readonly dataUrl: string };

const uploadedFile = z.object({ filename: z.string(), bytes: z.instanceof(Uint8Array) });
const urlObject = z.union([
  z.strictObject({ image_url: z.union([z.string(), z.strictObject({ url: z.string() })]) }),
  z.strictObject({ url: z.string() }),
]);

/** Reads the forms a picture may come in. Remote URLs are refused: nothing is fetched for a caller. */
export function parseImageInput(value: unknown, param: string): ImageInput {
  const file = uploadedFile.safeParse(value);
  if (file.success) return { bytes: file.data.bytes };
  const url = typeof value === "string" ? value : urlOf(value, param);
  if (/^data:/i.test(url)) return { dataUrl: url };
  const message = /^[a-z][a-z0-9+.-]*:/i.test(url)
    ? `${param} must be a file or a data URL: remote URLs are not fetched`
    : `${param} must be a file part, a data URL, {image_url} or {url}, got ${describe(url)}`;
  throw new JobError("invalid_image_url", message, { param });
}

function urlOf(value: unknown, param: string): string {
  const parsed = urlObject.safeParse(value);
  if (!parsed.success) {
    const message = `${param} must be a file part, a data URL, {image_url} or {url}, got ${describe(value)}`;
    throw new JobError("invalid_value", message, { param });
  }
  if ("url" in parsed.data) return parsed.data.url;
  const { image_url: imageUrl } = parsed.data;
  return typeof imageUrl === "string" ? imageUrl : imageUrl.url;
}
