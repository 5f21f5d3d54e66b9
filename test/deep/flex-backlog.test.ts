import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { raceBacklog } from "../support/flex-backlog.js";
import { createPostgres, dropPostgres } from "../support/front-harness.js";
import { getAmqpUrl } from "../support/queue-harness.js";
import { type ServiceProcesses, startApart } from "../support/service-harness.js";

let folder: string;
let databaseUrl: string;
let service: ServiceProcesses;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-backlog-"));
  databaseUrl = await createPostgres();
  service = await startApart(join(folder, "data"), {
    AMQP_URL: getAmqpUrl(),
    DATABASE_URL: databaseUrl,
    REQUESTS_PER_MINUTE: "100000",
  });
}, 180_000);
afterAll(async () => {
  await service?.stop();
  await dropPostgres(databaseUrl);
  await rm(folder, { recursive: true, force: true });
});

test("behind 20 flex clips, a priority clip takes the first one's place, and each is charged once by its tier", async () => {
  const race = await raceBacklog(service, { count: 20, seconds: 4, folder });
  process.stdout.write(
    `the priority clip computed ${Math.round(race.startedAfterMs)} ms after its acceptance\n`,
  );
  expect(race.flexBefore).toBe(0);
  expect(race.interrupted.map(({ attempts }) => attempts)).toEqual([2]);
  expect(race.hashes[0]).toBe(race.hashes[1]);
  expect(race.charged).toEqual({ priority: 640_000, flex: 20 * 160_000 });
  expect([...race.states]).toEqual(["completed"]);
}, 900_000);
