import { checkLog } from "./check-log.js";
import type { LedgerRow, LogEvent } from "./event-log.js";
import type { Verdict } from "./verdicts.js";

/** What a run says of each promise that it tried. Pure, as the checker is. */
export function judgeLog(log: readonly LogEvent[]): Verdict[] {
  const seen = readLog(log);
  return [...wholeRun(seen), ...ofFaults(seen), ...ofJobs(seen)];
}

type Seen = ReturnType<typeof readLog>;

function readLog(log: readonly LogEvent[]) {
  const rows = log.filter(
    (event): event is Extract<LogEvent, LedgerRow> => event.type === "ledger",
  );
  const poisoned = new Set(
    log.flatMap((event) => (event.type === "accepted" && event.poison ? [event.id] : [])),
  );
  const cancelled = new Set(log.flatMap((event) => (event.type === "cancelled" ? [event.id] : [])));
  return {
    findings: checkLog(log),
    accepted: log.filter(({ type }) => type === "accepted").length,
    faults: log.filter((event) => event.type === "fault"),
    done: rows.filter(({ state }) => state === "completed"),
    poison: rows.filter(({ id }) => poisoned.has(id)),
    gone: rows.filter(({ id }) => cancelled.has(id)),
  };
}

/** T1: everything that the checker counts. */
function wholeRun({ findings, accepted, faults }: Seen): Verdict[] {
  const found = Object.entries(findings);
  return [
    {
      promise: "T1",
      injected: `${accepted} jobs, ${faults.length} faults`,
      counted: found.map(([name, count]) => `${name} ${count}`).join(", "),
      holds: accepted > 0 && found.every(([, count]) => count === 0),
    },
  ];
}

/** What each kind of fault must not lead to. */
function ofFaults({ findings, faults, done }: Seen): Verdict[] {
  const { lost, unasked, stuck, failed, stale, unpaid, overpaid, orphans, wrong } = findings;
  const charges = done.reduce((sum, row) => sum + row.charges.length, 0);
  const rules: readonly (readonly [string, string, number])[] = [
    [
      "T2",
      `${charges} charges of ${done.length} done, orphans ${orphans}`,
      unpaid + overpaid + orphans,
    ],
    ["T3", `stale writes ${stale}, wrong bytes ${wrong}`, stale + wrong],
    ["T4", `lost ${lost}, accepted twice ${unasked}, stuck ${stuck}`, lost + unasked + stuck],
    ["T8", `failed ${failed}`, failed],
    ["T9", `confirmed and lost ${lost}`, lost + stuck],
    ["T10", `good jobs failed ${failed}, wrong bytes shipped ${wrong}`, failed + wrong],
    ["T13", `lost ${lost}, failed ${failed}`, lost + stuck + failed],
  ];
  return rules.map(([promise, counted, violations]) => {
    const injected = faults.filter((fault) => fault.promise === promise);
    const kinds = new Map<string, number>();
    for (const { what } of injected) kinds.set(what, (kinds.get(what) ?? 0) + 1);
    const words = [...kinds].map(([what, count]) => `${count} × ${what}`).join(", ");
    return { promise, injected: words, counted, holds: injected.length > 0 && violations === 0 };
  });
}

/** What becomes of jobs that cannot succeed, or that nobody wants. */
function ofJobs({ findings, poison, gone }: Seen): Verdict[] {
  const charged = (rows: readonly LedgerRow[]) =>
    rows.filter(({ charges }) => charges.length > 0).length;
  const others = poison.filter(({ crashes }) => crashes !== 3).length;
  return [
    {
      promise: "T7",
      injected: `${poison.length} poisoned jobs`,
      counted: `other than three attempts ${others}, charged ${charged(poison)}, good jobs failed ${findings.failed}`,
      holds: poison.length > 0 && findings.poison + charged(poison) + findings.failed === 0,
    },
    {
      promise: "T17",
      injected: `${gone.length} cancelled jobs`,
      counted: `charged ${charged(gone)}`,
      holds: gone.length > 0 && charged(gone) === 0,
    },
  ];
}
