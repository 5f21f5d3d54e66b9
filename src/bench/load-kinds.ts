import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { createTexts } from "./bench-texts.js";
import { BENCH_REQUEST } from "./clip.js";
import type { Send } from "./drive.js";

export interface LoadTarget {
  /** Includes `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
}

const POLL_MS = 50;
const video = z.object({ id: z.string(), status: z.string() });

/** Sends a clip of the fast tier; gives its id. */
export async function postClip(
  target: LoadTarget,
  seed: number,
  signal: AbortSignal,
): Promise<string> {
  const { model, prompt, seconds, quality } = BENCH_REQUEST;
  const body = { model, prompt, seconds, quality, seed };
  return video.parse(await call(target, "/videos", { body, signal })).id;
}

export async function cancelClip(
  target: LoadTarget,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  await call(target, `/videos/${id}/cancel`, { body: {}, signal });
}

/** One clip, until it can be downloaded. */
export function sendClips(target: LoadTarget): Send {
  return async (seed, signal) => {
    const id = await postClip(target, seed, signal);
    for (;;) {
      const { status } = video.parse(await call(target, `/videos/${id}`, { signal }));
      if (status === "completed") return;
      if (status !== "queued" && status !== "in_progress") throw new Error(`${id} is ${status}`);
      await sleep(POLL_MS, undefined, { signal });
    }
  };
}

/** One short text that no request before it held. */
export function sendEmbeddings(target: LoadTarget, model: string): Send {
  const texts = createTexts();
  return async (_index, signal) => {
    const [input] = texts(1);
    await call(target, "/embeddings", { body: { model, input }, signal });
  };
}

async function call(
  { baseUrl, apiKey }: LoadTarget,
  path: string,
  { body, signal }: { readonly body?: object; readonly signal: AbortSignal },
): Promise<unknown> {
  const response = await fetch(baseUrl + path, {
    signal,
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
  });
  const answer: unknown = await response.json();
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return answer;
}
