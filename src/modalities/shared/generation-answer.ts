import { z } from "zod";
import type { Chunk } from "../../core/events.js";
import type { GenerationDelta } from "../../models/decoder/request/generation-request.js";
import type { ChosenLogprob, TokenLogprob } from "../../models/decoder/request/request.js";

/** What the answers of chat and responses share. */

/** Chunks with the first already there: rejects where the job failed before it wrote anything. */
export async function openDeltas<Delta>(
  chunks: AsyncIterable<Chunk<Delta>>,
): Promise<AsyncIterable<Chunk<Delta>>> {
  const iterator = chunks[Symbol.asyncIterator]();
  let first: Promise<IteratorResult<Chunk<Delta>>> | undefined = Promise.resolve(
    await iterator.next(),
  );
  const next = () => {
    const result = first ?? iterator.next();
    first = undefined;
    return result;
  };
  const close = async () => {
    await iterator.return?.();
    return { done: true, value: undefined } as const;
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: close }) };
}

/** The delta of a chunk that the chat pipeline yielded. */
export function deltaOf(chunk: Chunk<GenerationDelta>): GenerationDelta {
  if (chunk.type !== "json") throw new TypeError("an answer of text has no bytes");
  return chunk.value;
}

const topLogprob = z
  .object({ token: z.string(), logprob: z.number(), bytes: z.array(z.int()).describe("UTF-8") })
  .meta({ id: "TopLogprob" });

/** A token that was chosen, and those that were likely in its place. */
export const tokenLogprob = topLogprob
  .extend({ top_logprobs: z.array(topLogprob) })
  .meta({ id: "TokenLogprob" });
export type PublicLogprob = z.infer<typeof tokenLogprob>;

export function tokenLogprobs(logprobs: readonly ChosenLogprob[]): PublicLogprob[] {
  return logprobs.map((one) => ({
    ...publicLogprob(one),
    top_logprobs: one.top.map(publicLogprob),
  }));
}

function publicLogprob({ token, logprob, bytes }: TokenLogprob): z.infer<typeof topLogprob> {
  // JSON has no infinity: an impossible token has the number that the OpenAI API gives it.
  return { token, logprob: Math.max(logprob, -9_999), bytes: [...bytes] };
}
