import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { LedgerRow } from "./event-log.js";
import { MODEL } from "./grinder.js";
import type { Reply, Stand } from "./stand.js";
import type { ToilRequest } from "./toil/index.js";
import { expectedValue } from "./toil/pipeline.js";

export interface Toil {
  readonly seed: number;
  readonly steps: number;
  readonly stepMs: number;
  readonly does?: ToilRequest["does"];
  readonly once?: boolean;
}

type Ask = Pick<Stand, "request">;

/** One try; undefined when the front is away. */
export function askFor(
  stand: Ask,
  toil: Toil,
  idempotencyKey?: string,
): Promise<Reply | undefined> {
  const { stepMs, ...rest } = toil;
  return stand.request("/toils", { model: MODEL, step_ms: stepMs, ...rest }, idempotencyKey);
}

/** Asks under one key until the job is accepted; resolves to its id. `onRefused` hears the other statuses. */
export async function submit(
  stand: Ask,
  toil: Toil,
  onRefused: (status: number) => void = () => {},
): Promise<string> {
  const key = randomUUID();
  for (;;) {
    const reply = await askFor(stand, toil, key);
    if (reply?.status === 200) return reply.json.id as string;
    if (reply?.status === 400) throw new Error(JSON.stringify(reply.json));
    if (reply !== undefined) onRefused(reply.status);
    await sleep(200);
  }
}

/** Waits until all these jobs have ended; resolves to their rows. */
export async function untilEnded(
  stand: Pick<Stand, "readLedger">,
  ids: Iterable<string>,
  timeoutMs: number,
): Promise<LedgerRow[]> {
  const wanted = new Set(ids);
  const end = performance.now() + timeoutMs;
  for (;;) {
    const rows = (await stand.readLedger()).filter(({ id }) => wanted.has(id));
    const open = rows.filter(({ state }) => state === "queued" || state === "in_progress");
    if (open.length === 0) return rows;
    if (performance.now() > end)
      throw new Error(`not within ${timeoutMs} ms: ${JSON.stringify(open)}`);
    await sleep(250);
  }
}

/** Whether the job's file holds what the toil makes. */
export async function isRight(
  stand: Pick<Stand, "readFile">,
  { files: [key] }: Pick<LedgerRow, "files">,
  { seed, steps }: Toil,
): Promise<boolean> {
  if (key === undefined) return false;
  const text = await stand.readFile(key).catch(() => "");
  return text === JSON.stringify({ value: expectedValue(seed, steps) });
}

/** Completed, charged its quote once, and with the right bytes. */
export async function countGood(
  stand: Pick<Stand, "readFile">,
  rows: readonly LedgerRow[],
  toilOf: (id: string) => Toil | undefined,
): Promise<number> {
  const good = await Promise.all(
    rows.map(async (row) => {
      const toil = toilOf(row.id);
      const isPaid = row.charges.length === 1 && row.charges[0] === row.quoted;
      return toil !== undefined && isPaid && (await isRight(stand, row, toil));
    }),
  );
  return good.filter(Boolean).length;
}
