// node jobs.mjs DATABASE_URL IN_FLIGHT: for each number that comes in, adds so many jobs that do nothing to
// graphile-worker, so many in flight at a time, works them off and prints how long that took.
import { createInterface } from "node:readline";
import { Logger, run } from "graphile-worker";

const [connectionString, inFlight] = [process.argv[2], Number(process.argv[3])];
const waiting = new Map();
const runner = await run({
  connectionString,
  concurrency: inFlight,
  noHandleSignals: true,
  logger: new Logger(() => () => {}),
  taskList: { nothing: ({ id }) => waiting.get(id)?.() },
});
const client = async (left) => {
  while (left.count > 0) {
    const id = left.count--;
    const done = new Promise((resolve) => waiting.set(id, resolve));
    await runner.addJob("nothing", { id });
    await done;
  }
};
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const startedAt = performance.now();
  const left = { count: Number(line) };
  await Promise.all(Array.from({ length: inFlight }, () => client(left)));
  process.stdout.write(`${JSON.stringify({ seconds: (performance.now() - startedAt) / 1_000 })}\n`);
}
await runner.stop();
