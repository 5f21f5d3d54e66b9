import { setTimeout as sleep } from "node:timers/promises";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { addProcessMetrics } from "#framemill/http/process-metrics.js";

test("the event loop's delay is told without the time between two looks at it", async () => {
  const registry = new Registry();
  addProcessMetrics(registry);
  await sleep(500);
  const text = await registry.metrics();
  const least = /^nodejs_eventloop_lag_min_seconds (.+)$/m.exec(text)?.[1];
  expect(Number(least)).toBeLessThan(0.1);
});
