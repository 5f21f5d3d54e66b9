import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { closedLoop, type Send } from "./drive.js";

export interface JobService {
  /** Includes `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
}

export interface LoadPlan {
  readonly path: string;
  readonly body: object;
  readonly count: number;
  /** Requests that wait for their answers at any time. */
  readonly inFlight: number;
}

export interface LoadResult {
  readonly seconds: number;
  /** Of each request until its whole answer, in milliseconds; a refused one's next tries included. */
  readonly latencies: readonly number[];
  /** Requests that were told to come again (503). */
  readonly refused: number;
}

/** A closed loop over kept connections: each client sends its next request when the last is answered. */
export async function runLoad(service: JobService, plan: LoadPlan): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: plan.inFlight });
  const text = JSON.stringify(plan.body);
  const { count, inFlight: clients } = plan;
  let refused = 0;
  const send: Send = async () => {
    while (!(await post(agent, service, plan.path, text))) refused += 1;
  };
  try {
    const { signal } = new AbortController();
    const { outcomes, seconds } = await closedLoop(send, { clients, count }, signal);
    const failed = outcomes.find(({ end }) => end !== "answered");
    if (failed !== undefined) throw new Error(failed.reason);
    return { seconds, latencies: outcomes.map(({ latencyMs }) => latencyMs), refused };
  } finally {
    agent.destroy();
  }
}

/** Whether it was answered; false, after the wait that was asked for, where it was refused for now. */
async function post(
  agent: Agent,
  { baseUrl, apiKey }: JobService,
  path: string,
  text: string,
): Promise<boolean> {
  const sent = request(`${baseUrl}${path}`, {
    agent,
    method: "POST",
    headers: {
      authorization: `Bearer ${apiKey}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
    },
  });
  sent.end(text);
  // The event's arguments are typed by nobody; node:http says what they are.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  let answered = "";
  for await (const piece of answer) answered += String(piece);
  if (answer.statusCode === 200) return true;
  if (answer.statusCode !== 503)
    throw new Error(`${path} answered ${answer.statusCode}: ${answered.slice(0, 200)}`);
  await sleep(1_000 * Number(answer.headers["retry-after"] ?? 1));
  return false;
}
