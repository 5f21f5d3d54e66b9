import { expect, test } from "vitest";
import { createLane } from "#framemill/core/async/lane.js";

test("admits one job at a time, in order, skipping those that were aborted", async () => {
  const lane = createLane();
  const { signal } = new AbortController();
  const impatient = new AbortController();
  const order: string[] = [];
  const first = await lane.enter(signal);
  const second = lane.enter(impatient.signal);
  const third = lane.enter(signal).then((leave) => {
    order.push("third is in");
    return leave;
  });
  impatient.abort(new Error("gave up"));
  await expect(second).rejects.toThrow("gave up");
  order.push("first leaves");
  first();
  (await third)();
  first();
  (await lane.enter(signal))();
  expect(order).toEqual(["first leaves", "third is in"]);
});
