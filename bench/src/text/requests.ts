import { timed } from "../report/measure.js";

/** Milliseconds a request of clients that each wait for their answer before they send the next. */
export async function serve<Request>(
  send: (request: Request) => Promise<unknown>,
  requests: readonly Request[],
  clients: number,
): Promise<number> {
  const waiting = [...requests];
  const client = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await send(next);
  };
  const { seconds } = await timed(() => Promise.all(Array.from({ length: clients }, client)));
  return (seconds * 1_000) / requests.length;
}

const WORDS = (
  "the quick brown fox jumps over a lazy dog while seventeen engineers measure how fast river " +
  "boats cross quantum harbours under heavy weather and write letters to their gardens"
).split(" ");

/** Texts of 8 to 31 words, never the same twice, the same in every run. */
export function createTexts(): (count: number) => string[] {
  let state = 1;
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const text = () =>
    Array.from({ length: 8 + next(24) }, () => WORDS[next(WORDS.length)]).join(" ");
  return (count) => Array.from({ length: count }, text);
}
