import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { raceBacklog } from "../../support/flex-backlog.js";
import { type ServiceProcesses, startUp } from "../../support/service-harness.js";

let folder: string;
let service: ServiceProcesses;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-flex-"));
  service = await startUp(join(folder, "data"), { environment: { REQUESTS_PER_MINUTE: "100000" } });
}, 180_000);
afterAll(async () => {
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

test("a priority clip takes the place of a flex clip, which goes on later with the same frames", async () => {
  const { flexBefore, interrupted, hashes, charged, states } = await raceBacklog(service, {
    count: 3,
    seconds: 10,
    folder,
  });
  expect(flexBefore).toBe(0);
  expect(interrupted.map(({ attempts }) => attempts)).toEqual([2]);
  expect(hashes[0]).toBe(hashes[1]);
  expect(charged).toEqual({ priority: 1_600_000, flex: 3 * 400_000 });
  expect([...states]).toEqual(["completed"]);
}, 180_000);
