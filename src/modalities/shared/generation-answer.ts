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

export interface PublicLogprob {
  token: string;
  logprob: number;
  bytes: number[];
}

export function tokenLogprobs(
  logprobs: readonly ChosenLogprob[],
): (PublicLogprob & { top_logprobs: PublicLogprob[] })[] {
  return logprobs.map((one) => ({
    ...publicLogprob(one),
    top_logprobs: one.top.map(publicLogprob),
  }));
}

function publicLogprob({ token, logprob, bytes }: TokenLogprob): PublicLogprob {
  // JSON has no infinity: an impossible token has the number that the OpenAI API gives it.
  return { token, logprob: Math.max(logprob, -9_999), bytes: [...bytes] };
}
