import type { LedgerRow, LogEvent } from "./event-log.js";

/** How often each thing that must not happen did. */
export interface Findings {
  /** Accepted, and not in the ledger. */
  readonly lost: number;
  /** In the ledger, and its caller saw another, or none. */
  readonly unasked: number;
  /** In the ledger, and without an end. */
  readonly stuck: number;
  /** Seen in a state after it was seen in a later one, or with less progress. */
  readonly backward: number;
  /** Completed without its one charge of the quoted amount. */
  readonly unpaid: number;
  /** Charged twice, or charged and not completed. */
  readonly overpaid: number;
  /** Good jobs that failed without being cancelled. */
  readonly failed: number;
  /** Poisoned jobs that completed, or took other than three attempts. */
  readonly poison: number;
  /** Completed, with a file of an attempt that had lost the job. */
  readonly stale: number;
  /** Completed, and its file is missing or holds other bytes. */
  readonly wrong: number;
  /** Files that belong to no attempt that completed. */
  readonly orphans: number;
}

const RANK: Readonly<Record<string, number>> = {
  queued: 0,
  in_progress: 1,
  completed: 2,
  failed: 2,
};

/** Reads a whole log and counts. Pure: the same log gives the same findings. */
export function checkLog(log: readonly LogEvent[]): Findings {
  const ofType = <Type extends LogEvent["type"]>(type: Type) =>
    log.filter((event): event is Extract<LogEvent, { type: Type }> => event.type === type);
  const rows = new Map(ofType("ledger").map((row) => [row.id, row]));
  const accepted = ofType("accepted");
  const poisoned = new Set(accepted.filter(({ poison }) => poison).map(({ id }) => id));
  const known = new Set(accepted.map(({ id }) => id));
  const cancelled = new Set(ofType("cancelled").map(({ id }) => id));
  const right = new Set(ofType("content").flatMap(({ id, isRight }) => (isRight ? [id] : [])));
  const present = ofType("file").map(({ key }) => key);
  const count = (holds: (row: LedgerRow) => boolean) => [...rows.values()].filter(holds).length;
  const isDone = ({ state }: LedgerRow) => state === "completed";
  const claimed = new Set([...rows.values()].filter(isDone).flatMap(({ files }) => files));
  return {
    lost: accepted.filter(({ id }) => !rows.has(id)).length,
    unasked: count(({ id }) => !known.has(id)),
    stuck: count(({ state }) => RANK[state] !== 2),
    backward: countBackward(ofType("seen")),
    unpaid: count(
      (row) => isDone(row) && !(row.charges.length > 0 && row.charges[0] === row.quoted),
    ),
    overpaid: count((row) => row.charges.length > (isDone(row) ? 1 : 0)),
    failed: count(({ id, state }) => state === "failed" && !poisoned.has(id) && !cancelled.has(id)),
    poison: count(
      ({ id, state, crashes }) => poisoned.has(id) && (state !== "failed" || crashes !== 3),
    ),
    stale: count(
      (row) => isDone(row) && row.files.some((key) => !key.startsWith(`${row.id}/${row.token}/`)),
    ),
    wrong: count((row) => isDone(row) && !right.has(row.id)),
    orphans: present.filter((key) => !claimed.has(key)).length,
  };
}

type Seen = Extract<LogEvent, { type: "seen" }>;

/** A failed job may show less than a hundred; nothing else ever shows less than before. */
function countBackward(seen: readonly Seen[]): number {
  const latest = new Map<string, Seen>();
  let backward = 0;
  for (const event of seen) {
    const before = latest.get(event.id);
    latest.set(event.id, event);
    if (before === undefined) continue;
    const [from, to] = [RANK[before.status] ?? 0, RANK[event.status] ?? 0];
    const changedEnd = from === 2 && before.status !== event.status;
    if (to < from || changedEnd || event.progress < before.progress) backward += 1;
  }
  return backward;
}
