import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { LedgerRow } from "./event-log.js";
import { MODEL } from "./workload-model.js";
import type { Reply, Service } from "./service.js";
import type { WorkloadRequest } from "./workload/index.js";
import { expectedValue } from "./workload/pipeline.js";

export interface Workload {
  readonly seed: number;
  readonly steps: number;
  readonly stepMs: number;
  readonly does?: WorkloadRequest["does"];
  readonly once?: boolean;
}

type Ask = Pick<Service, "request">;

/** One try; undefined when the front is away. */
export function askFor(
  service: Ask,
  workload: Workload,
  idempotencyKey?: string,
): Promise<Reply | undefined> {
  const { stepMs, ...rest } = workload;
  return service.request("/workloads", { model: MODEL, step_ms: stepMs, ...rest }, idempotencyKey);
}

/** Asks under one key until the job is accepted; resolves to its id. `onRefused` hears the other statuses. */
export async function submit(
  service: Ask,
  workload: Workload,
  onRefused: (status: number) => void = () => {},
): Promise<string> {
  const key = randomUUID();
  for (;;) {
    const reply = await askFor(service, workload, key);
    if (reply?.status === 200) return reply.json.id as string;
    if (reply?.status === 400) throw new Error(JSON.stringify(reply.json));
    if (reply !== undefined) onRefused(reply.status);
    await sleep(200);
  }
}

/** Waits until all these jobs have ended; resolves to their rows. */
export async function untilEnded(
  service: Pick<Service, "readLedger">,
  ids: Iterable<string>,
  timeoutMs: number,
): Promise<LedgerRow[]> {
  const expected = new Set(ids);
  const end = performance.now() + timeoutMs;
  for (;;) {
    const rows = (await service.readLedger()).filter(({ id }) => expected.has(id));
    const open = rows.filter(({ state }) => state === "queued" || state === "in_progress");
    if (open.length === 0) return rows;
    if (performance.now() > end)
      throw new Error(`not within ${timeoutMs} ms: ${JSON.stringify(open)}`);
    await sleep(250);
  }
}

/** Whether the job's file holds what the workload makes. */
export async function isRight(
  service: Pick<Service, "readFile">,
  { files: [key] }: Pick<LedgerRow, "files">,
  { seed, steps }: Workload,
): Promise<boolean> {
  if (key === undefined) return false;
  const text = await service.readFile(key).catch(() => "");
  return text === JSON.stringify({ value: expectedValue(seed, steps) });
}

/** Completed, charged its quote once, and with the right bytes. */
export async function countGood(
  service: Pick<Service, "readFile">,
  rows: readonly LedgerRow[],
  workloadOf: (id: string) => Workload | undefined,
): Promise<number> {
  const good = await Promise.all(
    rows.map(async (row) => {
      const workload = workloadOf(row.id);
      const isPaid = row.charges.length === 1 && row.charges[0] === row.quoted;
      return workload !== undefined && isPaid && (await isRight(service, row, workload));
    }),
  );
  return good.filter(Boolean).length;
}
