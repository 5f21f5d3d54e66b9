import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { call, createPostgres, dropPostgres } from "../../support/front-harness.js";
import { eventsIn } from "../../support/front-workers.js";
import { hangUp } from "../../support/hang-up.js";
import { getAmqpUrl } from "../../support/queue-harness.js";
import { type ServiceProcesses, startApart } from "../../support/service-harness.js";
import { countOf, noteVerdict } from "./verdicts.js";

const HANG_UPS = countOf({ short: 15, full: 100 });
/** Streams at a time: the worker runs them in one batch. */
const AT_ONCE = 8;
const MOST_PIECES = 40;
/** Micro-dollars a token. */
const PRICES = { input: 0.15, output: 0.6 };
const CHAT = {
  model: "service-chat-1",
  messages: [{ role: "user", content: "Once upon a time" }],
  max_tokens: 400,
  // Its end token does not come: no answer is over before its caller has hung up.
  logit_bias: { 1: -100 },
};

let folder = "";
let databaseUrl = "";
let ledger: Client;
let service: ServiceProcesses;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-hang-ups-"));
  databaseUrl = await createPostgres();
  service = await startApart(join(folder, "data"), {
    AMQP_URL: getAmqpUrl(),
    DATABASE_URL: databaseUrl,
    MODELS: "service-chat-1",
    TOKENS_PER_MINUTE: "100000000",
  });
  ledger = new Client({ connectionString: databaseUrl });
  await ledger.connect();
}, 120_000);
afterAll(async () => {
  await service?.stop();
  await ledger?.end();
  await dropPostgres(databaseUrl);
  await rm(folder, { recursive: true, force: true });
});

/** What one caller got: tokens as its logprobs tell them, one each. */
interface Stream {
  readonly jobId: string;
  readonly tokens: number;
  readonly isWhole: boolean;
}

interface ChatChunk {
  readonly id: string;
  readonly choices: readonly {
    readonly logprobs: { readonly content: readonly object[] } | null;
  }[];
}

function countTokens(events: readonly unknown[]): number {
  const chunks = events.filter((event): event is ChatChunk => typeof event === "object");
  return chunks.reduce((sum, { choices }) => sum + (choices[0]?.logprobs?.content.length ?? 0), 0);
}

async function hangUpAt(pieces: number): Promise<Stream> {
  const text = await hangUp(`${service.baseUrl}/chat/completions`, {
    key: service.apiKey,
    body: { ...CHAT, stream: true, logprobs: true },
    isEnough: (received) => (received.match(/"logprob":/g) ?? []).length >= pieces,
    // Reads to the end of what the front wrote: what is counted here is what was delivered.
    how: "half-close",
  });
  const events = eventsIn(text.slice(0, text.lastIndexOf("\n\n") + 2));
  const { id: jobId } = events[0] as ChatChunk;
  return { jobId, tokens: countTokens(events), isWhole: text.includes("[DONE]") };
}

interface Charge {
  readonly units: { readonly inputTokens: number; readonly outputTokens: number };
  readonly amount: number;
}

function isSame(charge: Charge | undefined, right: Charge): boolean {
  if (charge === undefined || Math.abs(charge.amount - right.amount) >= 1e-10) return false;
  const { inputTokens, outputTokens } = charge.units;
  return inputTokens === right.units.inputTokens && outputTokens === right.units.outputTokens;
}

/** The charge of a job, as its caller may read it; waits until the front has noticed. */
async function chargeOf(jobId: string): Promise<Charge | undefined> {
  for (let tries = 0; tries < 100; tries += 1) {
    const { status, json } = await call(`${service.baseUrl}/charges/${jobId}`, {
      key: service.apiKey,
    });
    if (status === 200) return json;
    await sleep(100);
  }
  return undefined;
}

it("T30: charges callers who hang up for what was delivered", { timeout: 900_000 }, async () => {
  const whole = await call(`${service.baseUrl}/chat/completions`, {
    key: service.apiKey,
    body: { ...CHAT, max_tokens: 4 },
  });
  const promptTokens: number = whole.json.usage.prompt_tokens;
  const streams: Stream[] = [];
  while (streams.length < HANG_UPS) {
    const some = Math.min(AT_ONCE, HANG_UPS - streams.length);
    const places = Array.from({ length: some }, () => 1 + Math.floor(Math.random() * MOST_PIECES));
    streams.push(...(await Promise.all(places.map(hangUpAt))));
  }
  const wrong: string[] = [];
  let delivered = 0;
  let charged = 0;
  for (const { jobId, tokens, isWhole } of streams) {
    const charge = await chargeOf(jobId);
    delivered += tokens;
    charged += charge?.units.outputTokens ?? 0;
    const amount = (promptTokens * PRICES.input + tokens * PRICES.output) / 1e6;
    const right: Charge = { units: { inputTokens: promptTokens, outputTokens: tokens }, amount };
    if (isWhole || !isSame(charge, right))
      wrong.push(`${jobId}: ${tokens} delivered, ${JSON.stringify(charge)}`);
  }
  const ids = streams.map(({ jobId }) => jobId);
  const { rows } = await ledger.query<{ charges: number; cancelled: number }>(
    `SELECT (SELECT count(*)::int FROM charges WHERE job_id = ANY($1)) AS charges,
      (SELECT count(*)::int FROM jobs WHERE id = ANY($1) AND failure ->> 'code' = 'cancelled')
        AS cancelled`,
    [ids],
  );
  const holds =
    wrong.length === 0 && rows[0]?.charges === HANG_UPS && rows[0].cancelled === HANG_UPS;
  await noteVerdict({
    promise: "T30",
    injected: `${HANG_UPS} hang-ups within the first ${MOST_PIECES} tokens of streams of 400`,
    counted: `tokens delivered ${delivered}, charged ${charged}; charges ${rows[0]?.charges}, wrong ${wrong.length}`,
    holds,
  });
  expect({ wrong, ...rows[0] }).toEqual({ wrong: [], charges: HANG_UPS, cancelled: HANG_UPS });
});
