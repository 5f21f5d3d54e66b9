import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { createTexts } from "./bench-texts.js";
import { BENCH_REQUEST } from "./clip.js";
import { Refused, type Send } from "./drive.js";

export interface LoadTarget {
  /** Includes `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
}

const POLL_MS = 50;
/** Longest wait for the answer to a cancellation, in milliseconds. */
const CANCEL_MS = 5_000;
const REFUSED: ReadonlySet<number> = new Set([429, 503]);
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

/** Clips that are waited for, and what of them is not done. */
export interface ClipSender {
  /** One clip, until it can be downloaded. */
  readonly send: Send;
  /** Cancels every clip that was given up before its end. */
  readonly cancelOpen: () => Promise<void>;
}

export function createClipSender(target: LoadTarget): ClipSender {
  const open = new Set<string>();
  return {
    async send(seed, signal) {
      const id = await postClip(target, seed, signal);
      open.add(id);
      const status = await untilEnded(target, id, signal);
      open.delete(id);
      if (status !== "completed") throw new Error(`${id} is ${status}`);
    },
    async cancelOpen() {
      const signal = AbortSignal.timeout(CANCEL_MS);
      const cancelling = [...open].map((id) => cancelClip(target, id, signal));
      open.clear();
      // What has ended meanwhile cannot be cancelled any more.
      await Promise.allSettled(cancelling);
    },
  };
}

async function untilEnded(target: LoadTarget, id: string, signal: AbortSignal): Promise<string> {
  for (;;) {
    const { status } = video.parse(await call(target, `/videos/${id}`, { signal }));
    if (status !== "queued" && status !== "in_progress") return status;
    await sleep(POLL_MS, undefined, { signal });
  }
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
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  const message = `${path} answered ${response.status}: ${text.slice(0, 200)}`;
  throw REFUSED.has(response.status) ? new Refused(message) : new Error(message);
}
