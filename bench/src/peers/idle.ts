import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../../src/config.js";
import { type BenchRow, compare, type Pair } from "../report/measure.js";
import { cpuMsOf, residentOfTree, withFramemill } from "./subject.js";

const SETTLE_MS = 60_000;
const WINDOW_MS = 15_000;
const MOST_MEBIBYTES = 500;
const MOST_SHARE = 0.5;

/** `up` with every model of MODELS_DIR, of which nobody asks anything. */
export async function idleRows(config: Config, rounds: number): Promise<BenchRow[]> {
  return await withFramemill(config, {}, async ({ processId }) => {
    await sleep(SETTLE_MS);
    const memory: Pair[] = [];
    const cpu: Pair[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const spentMs = await cpuMsOf(processId, () => sleep(WINDOW_MS));
      cpu.push({ ours: (100 * spentMs) / WINDOW_MS, against: MOST_SHARE });
      memory.push({ ours: await residentOfTree(processId), against: MOST_MEBIBYTES });
    }
    return [
      compare({ what: "idle `up`: memory / 500 MB", unit: "MiB", target: 1 }, memory),
      compare({ what: "idle `up`: CPU / 0.5 % of a core", unit: "%", target: 1 }, cpu),
    ];
  });
}
