import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkLog } from "./check-log.js";
import { drawTimeline } from "./draw-timeline.js";
import { createFaults } from "./faults.js";
import { runChaos } from "./run-chaos.js";
import { openStand, type Stand } from "./stand.js";

interface Form {
  readonly jobs: number;
  readonly rounds: number;
  readonly zombieMs: number;
  readonly frontAwayMs: number;
}

const FORMS: Readonly<Record<string, Form>> = {
  short: { jobs: 120, rounds: 1, zombieMs: 36_000, frontAwayMs: 4_000 },
  full: { jobs: 2_400, rounds: 20, zombieMs: 36_000, frontAwayMs: 60_000 },
};
const form = FORMS[process.env["CHAOS_FORM"] ?? "short"] ?? FORMS["short"];
const SEED = Number(process.env["CHAOS_SEED"] ?? 1);
const MINUTE_MS = 60_000;

/** Mulberry32: the faults of a run can be repeated. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe("a service under faults", () => {
  let stand: Stand;
  beforeAll(async () => {
    stand = await openStand({ fronts: 2, workers: 3 });
  }, 2 * MINUTE_MS);
  afterAll(async () => await stand?.close());

  it(
    "loses nothing, charges once, leaves nothing behind",
    { timeout: 240 * MINUTE_MS },
    async () => {
      if (form === undefined) throw new Error("CHAOS_FORM is short or full");
      const { jobs, rounds, zombieMs, frontAwayMs } = form;
      const random = createRandom(SEED);
      const times = { zombieMs, frontAwayMs, brokerAwayMs: 3_000, partitionMs: 5_000 };
      const pick = <T>(members: readonly T[]): T => {
        const one = members[Math.floor(random() * members.length)];
        if (one === undefined) throw new Error("nobody to pick from");
        return one;
      };
      const faults = Array.from({ length: rounds }, () => createFaults(times, pick)).flat();
      const log = await runChaos(stand, {
        jobs,
        everyMs: 900,
        oneIn: 20,
        faults,
        pauseMs: 4_000,
        settleMs: 3 * MINUTE_MS,
        random,
      });
      const findings = checkLog(log);
      await report(log, findings);
      const none = Object.fromEntries(Object.keys(findings).map((name) => [name, 0]));
      expect(findings).toEqual(none);
    },
  );
});

type Log = Parameters<typeof checkLog>[0];

/** The tables, and where CHAOS_OUT says the log and its picture. */
async function report(log: Log, findings: ReturnType<typeof checkLog>): Promise<void> {
  const injected = new Map<string, number>();
  for (const event of log) {
    if (event.type !== "fault") continue;
    const name = `${event.promise}  ${event.what}`;
    injected.set(name, (injected.get(name) ?? 0) + 1);
  }
  const poison = log.filter((event) => event.type === "accepted" && event.poison).length;
  const cancelled = log.filter(({ type }) => type === "cancelled").length;
  injected.set("T7  poisoned jobs", poison);
  injected.set("T17  cancelled jobs", cancelled);
  const retried = log.filter((event) => event.type === "ledger" && event.token > 1).length;
  const handed = log.filter((event) => event.type === "ledger" && event.preemptions > 0).length;
  const refused = log.filter(({ type }) => type === "refused").length;
  const accepted = log.filter(({ type }) => type === "accepted").length;
  const rows = (entries: Iterable<readonly [string, number]>) =>
    [...entries].map(([name, count]) => `  ${name.padEnd(52)} ${count}`).join("\n");
  process.stdout.write(
    `\n${accepted} jobs accepted, ${retried} took several attempts, ${handed} were handed over, ${refused} requests refused; seed ${SEED}\ninjected\n${rows(injected)}\nfound\n${rows(Object.entries(findings))}\n`,
  );
  const folder = process.env["CHAOS_OUT"];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, "log.jsonl"),
    log.map((event) => `${JSON.stringify(event)}\n`).join(""),
  );
  await writeFile(join(folder, "timeline.svg"), drawTimeline(log));
}
