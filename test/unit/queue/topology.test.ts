import { describe, expect, test } from "vitest";
import { createTopology, pickRetryDelayMs, RETRY_DELAYS_MS } from "#framemill/queue/topology.js";

describe("pickRetryDelayMs", () => {
  test.each([
    [0, 5_000],
    [5_000, 5_000],
    [5_001, 30_000],
    [30_000, 30_000],
    [119_999, 120_000],
    [600_000, 120_000],
  ])("turns %i ms into %i ms", (askedMs, givenMs) => {
    expect(pickRetryDelayMs(RETRY_DELAYS_MS, askedMs)).toBe(givenMs);
  });
});

describe("createTopology", () => {
  test("names a queue by its routing key", () => {
    const topology = createTopology();
    expect(topology.jobsExchange).toBe("jobs");
    expect(topology.jobQueue("video.service-motion-1")).toBe("jobs.video.service-motion-1");
    expect(topology.retryQueue(5_000)).toBe("jobs.retry.5000ms");
    expect(topology.deadQueue).toBe("jobs.dead");
  });

  test("puts the prefix before every name and sorts the delays", () => {
    const topology = createTopology({ namePrefix: "staging.", retryDelaysMs: [300, 100] });
    expect(topology.jobsExchange).toBe("staging.jobs");
    expect(topology.jobQueue("a.b")).toBe("staging.jobs.a.b");
    expect(topology.retryQueue(100)).toBe("staging.jobs.retry.100ms");
    expect(topology.deadExchange).toBe("staging.jobs.dead");
    expect(topology.retryDelaysMs).toEqual([100, 300]);
  });
});
