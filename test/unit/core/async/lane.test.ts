import { expect, test } from "vitest";
import { createLane } from "#framemill/core/async/lane.js";

test("lets one job in at a time, in the order of asking, past those that gave up", async () => {
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
