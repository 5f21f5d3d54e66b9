import { expect, test } from "vitest";
import { createMutex } from "#framemill/core/async/mutex.js";

test("admits one job at a time, in order, skipping those that were aborted", async () => {
  const mutex = createMutex();
  const { signal } = new AbortController();
  const impatient = new AbortController();
  const order: string[] = [];
  const first = await mutex.enter(signal);
  const second = mutex.enter(impatient.signal);
  const third = mutex.enter(signal).then((leave) => {
    order.push("third is in");
    return leave;
  });
  impatient.abort(new Error("gave up"));
  await expect(second).rejects.toThrow("gave up");
  order.push("first leaves");
  first();
  (await third)();
  first();
  (await mutex.enter(signal))();
  expect(order).toEqual(["first leaves", "third is in"]);
});
