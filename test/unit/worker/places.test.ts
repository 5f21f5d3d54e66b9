import { describe, expect, test } from "vitest";
import type { ServiceTier } from "#framemill/core/service-tier.js";
import { createPlaces } from "#framemill/worker/places.js";

describe("places of polled jobs", () => {
  const enter = (slots: number) => {
    const places = createPlaces(slots, new Set(["video"]));
    return (serviceTier: ServiceTier, modality = "video") =>
      places.enter({ serviceTier, modality });
  };

  test("give that of the flex job that came last to a priority job, once it computes no more", async () => {
    const enterTwo = enter(2);
    const [first, last] = [enterTwo("flex"), enterTwo("flex")];
    const priority = enterTwo("priority");
    expect([first.needed.aborted, last.needed.aborted]).toEqual([false, true]);
    let isFreed = false;
    void priority.freed?.then(() => (isFreed = true));
    await Promise.resolve();
    expect(isFreed).toBe(false);
    last.leave();
    await priority.freed;
    expect(first.needed.aborted).toBe(false);
  });

  test("take nothing from anybody while one is free", () => {
    const enterTwo = enter(2);
    const flex = enterTwo("flex");
    expect([enterTwo("priority").freed, flex.needed.aborted]).toEqual([undefined, false]);
  });

  test("are kept by usual jobs, and by flex jobs that cannot go on elsewhere", () => {
    const enterOne = enter(1);
    const held = [enterOne("default"), enterOne("flex", "music")];
    expect(enterOne("priority").freed).toBeUndefined();
    expect(enterOne("default").freed).toBeUndefined();
    expect(held.map(({ needed }) => needed.aborted)).toEqual([false, false]);
  });

  test("are for flex jobs when other jobs leave one, those included that came ahead of theirs", async () => {
    const enterOne = enter(1);
    const usual = [enterOne("default"), enterOne("default")];
    const flex = enterOne("flex");
    let isFreed = false;
    void flex.freed?.then(() => (isFreed = true));
    usual[0]?.leave();
    await Promise.resolve();
    expect(isFreed).toBe(false);
    usual[1]?.leave();
    await flex.freed;
    expect(enterOne("flex").freed).toBeUndefined();
  });
});
