import type { TextEngine } from "../../../src/models/decoder/open.js";
import {
  type BenchRow,
  distribute,
  type Distribution,
  median,
  noiseOf,
} from "../report/measure.js";
import { greedyJob } from "./tokens.js";

export interface TextService {
  /** Includes `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
}

const PROMPT = "Once upon a time";
const REQUESTS = 10;
/** Long enough that the end does not compete with the beginning. */
const TOKENS = 32;
/** Requests until the code of every hop is compiled. */
const WARM_UP = 100;
/** How much later than the bare loop's the first streamed token may come, in milliseconds. */
const TARGET_MS = 15;

export interface FirstToken {
  readonly row: BenchRow;
  readonly distributions: readonly Distribution[];
}

/**
 * Time to the first streamed token through the whole stack, against the engine's own, on one graph;
 * `parts` names the broker.
 */
export async function measureFirstToken(
  { service, parts }: { readonly service: TextService; readonly parts: string },
  engine: TextEngine,
  rounds: number,
): Promise<FirstToken> {
  const through: number[] = [];
  const bare: number[] = [];
  for (let request = 0; request < WARM_UP; request += 1) {
    await firstThrough(service);
    await firstBare(engine);
  }
  for (let request = 0; request < rounds * REQUESTS; request += 1) {
    through.push(await firstThrough(service));
    bare.push(await firstBare(engine));
  }
  const [ours, against] = [median(through), median(bare)];
  const row = {
    what: `chat: first streamed token later than the bare loop's, ${parts}`,
    ours: Number((ours - against).toFixed(2)),
    against: TARGET_MS,
    unit: `ms (stack ${ours.toFixed(1)}, loop ${against.toFixed(1)})`,
    ratio: Number(((ours - against) / TARGET_MS).toFixed(3)),
    target: 1,
    noise: noiseOf(through),
  };
  const distributions = [
    distribute({ what: `chat: first token, service with ${parts}`, unit: "ms" }, through),
    distribute({ what: "chat: first token, bare loop", unit: "ms" }, bare),
  ];
  return { row, distributions };
}

async function firstThrough({ baseUrl, apiKey, model }: TextService): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({
      model,
      messages: [{ role: "user", content: PROMPT }],
      max_tokens: TOKENS,
      temperature: 0,
      stream: true,
    }),
  });
  let text = "";
  let firstMs: number | undefined;
  for await (const piece of response.body ?? []) {
    text += new TextDecoder().decode(piece);
    if (firstMs === undefined && /"content":"[^"]/.test(text))
      firstMs = performance.now() - startedAt;
  }
  if (firstMs === undefined)
    throw new Error(`no token came: ${response.status} ${text.slice(0, 200)}`);
  return firstMs;
}

async function firstBare(engine: TextEngine): Promise<number> {
  const startedAt = performance.now();
  let firstMs = 0;
  const job = greedyJob(PROMPT, TOKENS);
  for await (const event of engine.generate(job, new AbortController().signal))
    if (event.type === "text" && event.text !== "" && firstMs === 0)
      firstMs = performance.now() - startedAt;
  return firstMs;
}
