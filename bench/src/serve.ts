import { timed } from "./measure.js";

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
