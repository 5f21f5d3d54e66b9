import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { createPostgres, dropPostgres } from "../../support/front-harness.js";
import { getAmqpUrl } from "../../support/queue-harness.js";
import { environmentOf, startProcess, type Running } from "../../support/service-harness.js";

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** Stands still for ever at SIGUSR2. */
const STALL = "data:text/javascript,process.on('SIGUSR2',()=>{for(;;);});";

async function startFront(): Promise<Running> {
  const folder = await mkdtemp(join(tmpdir(), "framemill-watchdog-"));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  const databaseUrl = await createPostgres();
  closers.push(() => dropPostgres(databaseUrl));
  const env = environmentOf(folder, {
    AMQP_URL: getAmqpUrl(),
    DATABASE_URL: databaseUrl,
    WATCHDOG_MS: "1000",
    NODE_OPTIONS: `--import=${STALL}`,
  });
  const front = startProcess("front", env);
  closers.push(() => front.stop("SIGKILL"));
  await front.says(/front ready/);
  return front;
}

it("ends a front whose event loop is blocked, with a last log line", async () => {
  const front = await startFront();
  const exited = new Promise<NodeJS.Signals | null>((resolve) =>
    front.child.once("close", (_code, signal) => resolve(signal)),
  );
  front.child.kill("SIGUSR2");
  expect(await exited).toBe("SIGKILL");
  const last = front.output().trimEnd().split("\n").at(-1) ?? "";
  expect(JSON.parse(last)).toMatchObject({
    level: 60,
    name: "framemill-front",
    msg: expect.stringContaining("stood still for 1 s"),
  });
});
