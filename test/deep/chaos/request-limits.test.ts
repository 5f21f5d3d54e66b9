import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "#framemill/front/ledger/database/sql.js";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Front } from "#framemill/front/front.js";
import { call, type Harness, startHarness } from "../../support/front-harness.js";
import { countOf, noteVerdict } from "./verdicts.js";

const FRONTS = 4;
const CLIENTS = 50;
const EACH_ASKS = 6;
const ALLOWED = 60;
const MINUTE_MS = 60_000;
const WINDOWS = countOf({ short: 3, full: 20 });
/** Windows whose minute passes; the others are ended in the ledger. */
const WAITED = countOf({ short: 0, full: 2 });

let harness: Harness;
let fronts: readonly Front[];
beforeAll(async () => {
  harness = await startHarness("postgres");
  const replicas = Array.from({ length: FRONTS - 1 }, () => harness.startReplica());
  fronts = [harness.front, ...(await Promise.all(replicas))];
});
afterAll(async () => await harness?.close());

/** Statuses of all that the clients ask within one window, over all fronts at once. */
async function fillWindow(key: string): Promise<number[]> {
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    const statuses: number[] = [];
    for (let asked = 0; asked < EACH_ASKS; asked++) {
      const front = fronts[(client + asked) % FRONTS];
      statuses.push((await call(`${front?.baseUrl}/models`, { key })).status);
    }
    return statuses;
  });
  return (await Promise.all(clients)).flat();
}

it(
  "T19: serves exactly 60 requests a window to 50 clients of one project over 4 fronts",
  { timeout: 10 * MINUTE_MS },
  async () => {
    const { key } = await harness.createAccount({ requestsPerMinute: ALLOWED });
    const served: number[] = [];
    let others = 0;
    for (let window = 0; window < WINDOWS; window++) {
      const statuses = await fillWindow(key);
      served.push(statuses.filter((status) => status === 200).length);
      others += statuses.filter((status) => status !== 200 && status !== 429).length;
      if (window < WAITED) await sleep(MINUTE_MS);
      else await sql`UPDATE rate_limits SET expire = 0`.execute(harness.database);
    }
    const holds = others === 0 && served.every((count) => count === ALLOWED);
    await noteVerdict({
      promise: "T19",
      injected: `${CLIENTS} clients × ${EACH_ASKS} requests × ${WINDOWS} windows over ${FRONTS} fronts`,
      counted: `served a window: ${[...new Set(served)].join(", ")}; neither 200 nor 429: ${others}`,
      holds,
    });
    expect({ served, others }).toEqual({
      served: served.map(() => ALLOWED),
      others: 0,
    });
  },
);
