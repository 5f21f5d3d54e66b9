import type { GraphRun } from "../core/modality.js";
import type { GraphsSetup } from "./graphs.js";
import { openSessions, type SessionThread } from "./session.js";

/** The same graphs in several threads: a run goes to the thread with the fewest. Nothing is kept between runs. */
export async function openSessionLanes(
  setup: GraphsSetup,
  count: number,
  onRun?: (run: GraphRun) => void,
): Promise<Pick<SessionThread, "info" | "run" | "close">> {
  const threads = await Promise.all(
    Array.from({ length: count }, () => openSessions(setup, onRun)),
  );
  const lanes = threads.map((thread) => ({ thread, running: 0 }));
  return {
    info: threads[0]?.info ?? {},
    async run(role, feeds, options) {
      const lane = lanes.reduce((best, other) => (other.running < best.running ? other : best));
      lane.running += 1;
      try {
        return await lane.thread.run(role, feeds, options);
      } finally {
        lane.running -= 1;
      }
    },
    async close() {
      await Promise.all(threads.map((thread) => thread.close()));
    },
  };
}
