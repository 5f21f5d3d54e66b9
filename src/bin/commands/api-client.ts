import { createWriteStream } from "node:fs";
import { rename } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import type { Endpoint } from "../dev-file.js";

const clip = z.object({
  id: z.string(),
  status: z.enum(["queued", "in_progress", "completed", "failed"]),
  progress: z.number(),
  stage: z.string().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  size: z.string(),
  seconds: z.number(),
  queue_position: z.number().nullable(),
  cost: z.object({ amount: z.number(), final: z.number().nullable() }),
});

const errorBody = z.object({ error: z.object({ message: z.string() }) });

export type Clip = z.infer<typeof clip>;

/** What the command line needs of the HTTP API. Errors are the API's own sentences. */
export function createApiClient({ baseUrl, apiKey }: Endpoint) {
  async function call(path: string, init: Omit<RequestInit, "headers"> = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await fetch(baseUrl + path, { ...init, headers });
    if (response.ok) return response;
    const body = errorBody.safeParse(await response.json().catch(() => null));
    throw new Error(body.data?.error.message ?? `${path} answered ${response.status}`);
  }
  return {
    async create(body: FormData): Promise<Clip> {
      const response = await call("/videos", { method: "POST", body });
      return clip.parse(await response.json());
    },
    /** The clip when it has ended, or after `waitSeconds`. */
    async retrieve(id: string, waitSeconds = 0): Promise<Clip> {
      const response = await call(`/videos/${id}?wait=${waitSeconds}`);
      return clip.parse(await response.json());
    },
    async cancel(id: string): Promise<void> {
      await call(`/videos/${id}/cancel`, { method: "POST" });
    },
    /** Writes the MP4 beside the path first: a broken download leaves no half file. */
    async download(id: string, path: string): Promise<void> {
      const response = await call(`/videos/${id}/content`);
      if (response.body === null) throw new Error("the content has no body");
      const partial = `${path}.part`;
      await pipeline(Readable.fromWeb(response.body), createWriteStream(partial));
      await rename(partial, path);
    },
  };
}
