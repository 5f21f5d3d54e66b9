import { describe, expect, it } from "vitest";
import { checkLog, type Findings } from "../deep/chaos/check-log.js";
import { judgeLog } from "../deep/chaos/judge-log.js";
import type { LedgerRow, LogEvent } from "../deep/chaos/event-log.js";

const CLEAN: Findings = {
  lost: 0,
  unasked: 0,
  stuck: 0,
  backward: 0,
  unpaid: 0,
  overpaid: 0,
  failed: 0,
  poison: 0,
  stale: 0,
  wrong: 0,
  orphans: 0,
};

const seen = (id: string, status: string, progress: number): LogEvent => ({
  atMs: 0,
  type: "seen",
  id,
  status,
  progress,
});
const row = (id: string, more: Partial<LedgerRow> = {}): LogEvent => ({
  atMs: 9,
  type: "ledger",
  id,
  state: "completed",
  token: 1,
  crashes: 0,
  preemptions: 0,
  quoted: 400,
  charges: [400],
  files: [`${id}/1/content.json`],
  ...more,
});
const ended = { charges: [], files: [] };

/** A run as it should be: one job went well, one was cancelled, one was poisoned. */
const LOG: readonly LogEvent[] = [
  { atMs: 0, type: "accepted", id: "good", poison: false },
  { atMs: 0, type: "accepted", id: "gone", poison: false },
  { atMs: 0, type: "accepted", id: "bad", poison: true },
  seen("good", "queued", 0),
  seen("good", "in_progress", 40),
  seen("good", "in_progress", 40),
  seen("good", "completed", 100),
  seen("gone", "in_progress", 20),
  { atMs: 5, type: "cancelled", id: "gone" },
  seen("gone", "failed", 20),
  seen("bad", "failed", 50),
  row("good"),
  row("gone", { state: "failed", ...ended }),
  row("bad", { state: "failed", crashes: 3, ...ended }),
  { atMs: 9, type: "file", key: "good/1/content.json" },
  { atMs: 9, type: "content", id: "good", isRight: true },
];

const without = (holds: (event: LogEvent) => boolean) => LOG.filter((event) => !holds(event));
const changed = (id: string, more: Partial<LedgerRow>) =>
  LOG.map((event) => (event.type === "ledger" && event.id === id ? { ...event, ...more } : event));

describe("the checker of a chaos run", () => {
  it("finds nothing in a run as it should be", () => {
    expect(checkLog(LOG)).toEqual(CLEAN);
  });

  const planted: [keyof Findings, readonly LogEvent[]][] = [
    ["lost", without((event) => event.type === "ledger" && event.id === "gone")],
    [
      "unasked",
      [
        ...LOG,
        row("twin"),
        { atMs: 9, type: "file", key: "twin/1/content.json" },
        { atMs: 9, type: "content", id: "twin", isRight: true },
      ],
    ],
    ["stuck", changed("gone", { state: "in_progress" })],
    ["stuck", changed("gone", { state: "queued" })],
    ["backward", [...LOG, seen("good", "in_progress", 100)]],
    ["backward", [...LOG, seen("good", "failed", 100)]],
    ["backward", [...LOG, seen("gone", "failed", 19)]],
    ["unpaid", changed("good", { charges: [] })],
    ["unpaid", changed("good", { charges: [399] })],
    ["overpaid", changed("good", { charges: [400, 400] })],
    ["overpaid", changed("gone", { charges: [400] })],
    ["failed", without(({ type }) => type === "cancelled")],
    ["poison", changed("bad", { crashes: 2 })],
    ["poison", changed("bad", { crashes: 4 })],
    ["stale", changed("good", { token: 2 })],
    ["wrong", without(({ type }) => type === "content")],
    ["orphans", [...LOG, { atMs: 9, type: "file", key: "good/2/content.json" }]],
    ["orphans", [...LOG, { atMs: 9, type: "file", key: "gone/1/content.json" }]],
  ];
  it.each(planted)("catches a planted violation: %s", (name, log) => {
    expect(checkLog(log)).toEqual({ ...CLEAN, [name]: 1 });
  });
});

describe("the verdicts of a chaos run", () => {
  const faults = ["T2", "T3", "T4", "T8", "T9", "T10", "T13"].map((promise): LogEvent => ({
    atMs: 1,
    type: "fault",
    promise,
    what: "something",
  }));
  const brokenIn = (log: readonly LogEvent[]) =>
    judgeLog([...log, ...faults]).flatMap(({ promise, holds }) => (holds ? [] : [promise]));

  it("hold in a run as it should be", () => {
    expect(brokenIn(LOG)).toEqual([]);
    expect(judgeLog([...LOG, ...faults])).toHaveLength(10);
  });

  it("do not hold for what was never tried", () => {
    expect(judgeLog([]).filter(({ holds }) => holds)).toEqual([]);
  });

  const violations: [string, readonly LogEvent[], readonly string[]][] = [
    [
      "a lost job",
      without((event) => event.type === "ledger" && event.id === "gone"),
      ["T1", "T4", "T9", "T13", "T17"],
    ],
    ["a stuck job", changed("gone", { state: "queued" }), ["T1", "T4", "T9", "T13"]],
    ["two charges", changed("good", { charges: [400, 400] }), ["T1", "T2"]],
    [
      "a file of nobody",
      [...LOG, { atMs: 9, type: "file", key: "good/2/content.json" }],
      ["T1", "T2"],
    ],
    ["a stale write", changed("good", { token: 2 }), ["T1", "T3"]],
    ["wrong bytes", without(({ type }) => type === "content"), ["T1", "T3", "T10"]],
    [
      "a failed job",
      changed("good", { state: "failed", ...ended }),
      ["T1", "T2", "T8", "T10", "T13", "T7"],
    ],
    ["a fourth attempt of a poisoned job", changed("bad", { crashes: 4 }), ["T1", "T7"]],
    ["a charge of a cancelled job", changed("gone", { charges: [400] }), ["T1", "T2", "T17"]],
  ];
  it.each(violations)("are broken by %s", (_what, log, promises) => {
    expect(brokenIn(log)).toEqual(promises);
  });
});
