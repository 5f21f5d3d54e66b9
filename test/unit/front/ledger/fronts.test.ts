import { expect, test } from "vitest";
import { watchAnnouncements } from "#framemill/front/ledger/fronts.js";

test("no front is counted as gone before all had the time to announce themselves", () => {
  let now = 0;
  const own = watchAnnouncements(() => now);
  const said: number[] = [];
  // An announcement every 5 s; the database is away between 60 and 100 s.
  for (; now <= 140_000; now += 5_000) {
    if (now <= 60_000 || now >= 100_000) own.noteOne();
    if (own.maySayGone()) said.push(now / 1_000);
  }
  expect(said).toEqual([30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 130, 135, 140]);
});
