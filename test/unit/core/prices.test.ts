import { describe, expect, it } from "vitest";
import { findPrices, findTierPrices, listPrices, tierOf } from "#framemill/core/prices.js";
import { nanoPriceOf, priceOf, quote } from "#framemill/core/usage.js";

describe("findPrices", () => {
  it("takes the most specific row", () => {
    const table = {
      video: { videoSeconds: 1 },
      "video/fast": { videoSeconds: 2 },
      "video:m": { videoSeconds: 3 },
      "video/fast:m": { videoSeconds: 4 },
    };
    const price = (model: string, tier?: string) =>
      findPrices(table, { modality: "video", model, ...(tier !== undefined && { tier }) })
        .videoSeconds;
    expect([price("m", "fast"), price("m", "high"), price("m")]).toEqual([4, 3, 3]);
    expect([price("x", "fast"), price("x", "high"), price("x")]).toEqual([2, 1, 1]);
  });

  it("offers a service tier by a row as specific as the one of default, or more so", () => {
    const table = {
      video: { videoSeconds: 10 },
      "video@flex": { videoSeconds: 5 },
      "video/fast:m": { videoSeconds: 40 },
      "video/fast@priority:m": { videoSeconds: 80 },
      "video@priority:n": { videoSeconds: 30 },
    };
    const price = (model: string, serviceTier: "flex" | "priority") =>
      findTierPrices(table, { modality: "video", tier: "fast", model }, serviceTier)?.videoSeconds;
    // The model's own row is dearer than what half of the usual price was meant for.
    expect([price("x", "flex"), price("m", "flex")]).toEqual([5, undefined]);
    expect([price("m", "priority"), price("n", "priority")]).toEqual([80, 30]);
    expect(price("x", "priority")).toBeUndefined();
  });

  it("throws where no row fits, so that no job is free by accident", () => {
    const job = { modality: "video", tier: "ultra", model: "m" };
    expect(() => findPrices({ "video/fast": {} }, job)).toThrow(/no row for video/);
    expect(() => findPrices({}, { modality: "constructor", model: "m" })).toThrow(/no row/);
  });
});

describe("listPrices", () => {
  const flat = { name: "flat", prices: { images: 5 } };
  const tiered = {
    name: "tiered",
    prices: { tierOf: ({ size }: { size: string }) => size, byTier: { big: { images: 2 } } },
  };

  it("has rows for each modality, or for each of its tiers, one a service tier", () => {
    expect(listPrices([flat, tiered])).toEqual({
      flat: { images: 5 },
      "flat@flex": { images: 2.5 },
      "flat@priority": { images: 10 },
      "tiered/big": { images: 2 },
      "tiered/big@flex": { images: 1 },
      "tiered/big@priority": { images: 4 },
    });
  });

  it("knows the tier of a request where its modality has tiers", () => {
    expect([tierOf(tiered, { size: "big" }), tierOf(flat, {})]).toEqual(["big", undefined]);
  });
});

describe("priceOf", () => {
  it("adds all units and rounds once, to whole micro-dollars", () => {
    const prices = { inputTokens: 0.15, outputTokens: 0.6 };
    // 3 × 0.15 + 1 × 0.6 = 1.05; each rounded by itself would give 0 + 1.
    expect(priceOf(prices, { inputTokens: 3, outputTokens: 1 })).toBe(1);
    expect(priceOf(prices, { inputTokens: 3, outputTokens: 2 })).toBe(2);
    expect(priceOf(prices, { inputTokens: 1_000_000 })).toBe(150_000);
    expect(priceOf({ videoSeconds: 180_000 }, { videoSeconds: 4 })).toBe(720_000);
  });

  it("keeps what is below a micro-dollar in the ledger's nano-dollars", () => {
    expect(nanoPriceOf({ inputTokens: 0.02 }, { inputTokens: 3 })).toBe(60);
    expect(quote({ inputTokens: 0.02 }, { inputTokens: 874 }).amountNanoUsd).toBe(17_480);
  });

  it("charges nothing for units without a price, nor for prices without units", () => {
    expect(priceOf({ images: 10_000 }, { inputTokens: 50 })).toBe(0);
    expect(quote({}, { inputTokens: 50 })).toEqual({
      prices: {},
      units: { inputTokens: 50 },
      amountNanoUsd: 0,
    });
  });
});
