import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkLog } from "./check-log.js";
import { drawTimeline } from "./draw-timeline.js";
import { createFaults } from "./faults.js";
import { judgeLog } from "./judge-log.js";
import { runChaos } from "./run-chaos.js";
import { startService, type Service } from "./service.js";
import { noteVerdict } from "./verdicts.js";

interface Form {
  readonly jobs: number;
  readonly pauseMs: number;
  readonly frontAwayMs: number;
}

const FORMS: Readonly<Record<string, Form>> = {
  short: { jobs: 300, pauseMs: 2_000, frontAwayMs: 4_000 },
  full: { jobs: 5_000, pauseMs: 6_000, frontAwayMs: 60_000 },
};
/** Longer than a lease. */
const ZOMBIE_MS = 36_000;
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
  let service: Service;
  beforeAll(async () => {
    service = await startService({ fronts: 2, workers: [{}, {}, {}] });
  }, 2 * MINUTE_MS);
  afterAll(async () => await service?.close());

  it(
    "T1, T2, T3, T4, T7, T8, T9, T10, T13, T17: loses nothing, charges once, leaves nothing behind",
    { timeout: 240 * MINUTE_MS },
    async () => {
      if (form === undefined) throw new Error("CHAOS_FORM is short or full");
      const { jobs, pauseMs, frontAwayMs } = form;
      const random = createRandom(SEED);
      const randomJobs = createRandom(SEED + 1);
      const times = {
        zombieMs: ZOMBIE_MS,
        frontAwayMs,
        brokerAwayMs: 3_000,
        partitionMs: 5_000,
      };
      const pick = <T>(members: readonly T[]): T => {
        const one = members[Math.floor(random() * members.length)];
        if (one === undefined) throw new Error("nobody to pick from");
        return one;
      };
      const log = await runChaos(service, {
        jobs,
        mostOpen: 80,
        oneIn: 20,
        faults: createFaults(times, pick),
        pauseMs,
        settleMs: 3 * MINUTE_MS,
        random: randomJobs,
      });
      const findings = checkLog(log);
      await report(log);
      for (const verdict of judgeLog(log)) await noteVerdict(verdict);
      const none = Object.fromEntries(Object.keys(findings).map((name) => [name, 0]));
      expect(findings).toEqual(none);
    },
  );
});

type Log = Parameters<typeof checkLog>[0];

/** What it came to, and where CHAOS_OUT says the log and its picture. */
async function report(log: Log): Promise<void> {
  const rows = log.filter((event) => event.type === "ledger");
  const retried = rows.filter(({ token }) => token > 1).length;
  const handed = rows.filter(({ preemptions }) => preemptions > 0).length;
  const refused = log.filter(({ type }) => type === "refused").length;
  const seconds = Math.round((log.at(-1)?.atMs ?? 0) / 1_000);
  process.stdout.write(
    `\n${rows.length} jobs in ${seconds} s, ${retried} took several attempts, ${handed} were handed over, ${refused} requests refused; seed ${SEED}\n`,
  );
  const folder = process.env["CHAOS_OUT"];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  const lines = log.map((event) => `${JSON.stringify(event)}\n`);
  await writeFile(join(folder, "log.jsonl"), lines.join(""));
  await writeFile(join(folder, "timeline.svg"), drawTimeline(log));
}
