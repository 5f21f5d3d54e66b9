import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { PipelineEvent } from "#framemill/core/events.js";
import { createDevicePlaces, MOST_WAIT_MS } from "#framemill/runtime/ort/device-places.js";
import { takePlace } from "#framemill/runtime/ort/take-place.js";

const STEP_MS = 1_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A polled job of so many steps; keeps when each began. */
function polledJob(places: ReturnType<typeof createDevicePlaces>, steps: number) {
  const begun: number[] = [];
  const events: PipelineEvent[] = [];
  const abort = new AbortController();
  const preempt = new AbortController();
  const startedAt = performance.now();
  async function* work(): AsyncGenerator<PipelineEvent> {
    for (let step = 0; step < steps; step += 1) {
      begun.push(performance.now() - startedAt);
      await later(STEP_MS);
      yield { type: "progress", stage: "steps", fraction: (step + 1) / steps };
    }
  }
  const context = { signal: abort.signal, preempted: preempt.signal };
  const run = async () => {
    for await (const event of takePlace(work(), { places, isPolled: true, context }))
      events.push(event);
  };
  return { begun, events, abort, preempt, ended: run() };
}

test("a polled job pauses after its current step while callers' jobs run", async () => {
  const places = createDevicePlaces(1);
  const clip = polledJob(places, 3);
  await vi.advanceTimersByTimeAsync(500);
  const [first, second] = [places.enterReplied(), places.enterReplied()];
  await vi.advanceTimersByTimeAsync(5_000);
  first();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(clip.begun).toEqual([0]);
  second();
  await vi.advanceTimersByTimeAsync(2 * STEP_MS);
  await clip.ended;
  expect(clip.begun).toEqual([0, 6_500, 7_500]);
  // It said that it lives meanwhile, how long it rested, and what it is at again.
  const events = clip.events.map((event) => (event.type === "progress" ? event.stage : event.type));
  expect(events).toEqual([
    "steps",
    "waiting",
    "waiting",
    "waiting",
    "waited",
    "steps",
    "steps",
    "steps",
  ]);
  expect(clip.events).toContainEqual({ type: "waited", ms: 5_500 });
});

test("a steady stream of callers pauses it for no longer than it has worked, and half a minute", async () => {
  const places = createDevicePlaces(1);
  places.enterReplied();
  const clip = polledJob(places, 20);
  const most = 2 * 20 * STEP_MS + MOST_WAIT_MS;
  await vi.advanceTimersByTimeAsync(most - STEP_MS);
  expect(clip.begun).toHaveLength(20);
  await vi.advanceTimersByTimeAsync(STEP_MS);
  await clip.ended;
  expect(clip.begun.slice(0, 4)).toEqual([0, 32_000, 34_000, 36_000]);
});

test("with several places callers take what they need, and the jobs that have worked longest keep the rest", async () => {
  const places = createDevicePlaces(2);
  const [old, young] = [polledJob(places, 2), polledJob(places, 2)];
  const leave = places.enterReplied();
  await vi.advanceTimersByTimeAsync(3 * STEP_MS);
  await old.ended;
  expect([old.begun.length, young.begun.length]).toEqual([2, 2]);
  leave();
  await vi.advanceTimersByTimeAsync(3 * STEP_MS);
  await young.ended;
  expect([old.begun, young.begun]).toEqual([
    [0, 1_000],
    [0, 2_000],
  ]);
});

test.each(["abort", "preempt"] as const)(
  "a job that must end (%s) waits no longer",
  async (how) => {
    const places = createDevicePlaces(1);
    places.enterReplied();
    const clip = polledJob(places, 2);
    await vi.advanceTimersByTimeAsync(3_000);
    clip[how].abort();
    await vi.advanceTimersByTimeAsync(STEP_MS);
    expect(clip.begun).toEqual([0, 3_000]);
  },
);
