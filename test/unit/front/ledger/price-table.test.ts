import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listPrices } from "#framemill/core/prices.js";
import { checkTiers, readPriceTable } from "#framemill/front/ledger/price-table.js";
import { listModalities } from "#framemill/modalities/registry.js";

const listed = listPrices(listModalities());

describe("readPriceTable", () => {
  let folder: string;
  let path: string;
  const read = async (content: object | string) => {
    await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
    return await readPriceTable(path);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-prices-"));
    path = join(folder, "prices.json");
  });
  afterAll(async () => await rm(folder, { recursive: true, force: true }));

  it("gives the list prices without a file, and replaces whole rows with one", async () => {
    expect(await readPriceTable(undefined)).toEqual(listed);
    const own = {
      chat: { inputTokens: 1.5 },
      "chat@flex": { inputTokens: 1 },
      "video/fast:m-1": { videoSeconds: 0 },
    };
    const { "chat@priority": _priority, ...kept } = listed;
    expect(await read(own)).toEqual({ ...kept, ...own });
  });

  it("lets a row for a whole modality replace the list's rows for its tiers", async () => {
    const table = await read({ video: { videoSeconds: 1 }, "video/high": { videoSeconds: 2 } });
    const keys = Object.keys(table).filter((key) => key.startsWith("video"));
    expect(keys.toSorted()).toEqual(["video", "video/high"]);
    expect(table["image/low"]).toEqual(listed["image/low"]);
  });

  const refused: [name: string, content: object | string, sentence: RegExp][] = [
    ["a negative price", { chat: { inputTokens: -1 } }, /chat\.inputTokens must be .* 0 or more/],
    ["a price in words", { chat: { inputTokens: "1" } }, /chat\.inputTokens must be micro-dollars/],
    ["an unknown unit", { chat: { tokens: 1 } }, /chat .*"tokens"/],
    [
      "a key of another form",
      { "Chat GPT": {} },
      /Chat GPT must be modality\[\/tier\]\[@flex or @priority\]\[:model\]/,
    ],
    ["a service tier that is none", { "chat@scale": {} }, /chat@scale must be modality/],
    ["a service tier alone", { "video@flex": {} }, /video@flex .*, and video has no row beside it/],
    [
      "an unknown modality",
      { vidoe: { videoSeconds: 1 } },
      /vidoe names no modality or tier; .*video/,
    ],
    ["an unknown tier", { "video/fst:m-1": {} }, /video\/fst:m-1 names no .*tier; .*video\/fast/],
    ["no JSON", "{", /cannot be read: .*JSON/],
    ["a list", [], /expected record/],
  ];
  it.each(refused)(
    "refuses %s in one sentence that names the file",
    async (_name, content, rule) => {
      const failure = await read(content).then(
        () => "",
        (error: unknown) => String(error),
      );
      expect(failure).toContain(`PRICES_FILE ${path}`);
      expect(failure).toMatch(rule);
      expect(failure).not.toContain("\n");
    },
  );

  it("names a file that is not there", async () => {
    const missing = join(folder, "missing.json");
    await expect(readPriceTable(missing)).rejects.toThrow(`PRICES_FILE ${missing} cannot be read`);
  });
});

describe("checkTiers", () => {
  const model = { id: "m-1", modality: "video", createdAtSeconds: 0, concurrency: 1 };

  it("refuses a model of a tier that has no price, and says which there are", () => {
    expect(() => checkTiers([model, { ...model, tiers: ["fast"] }])).not.toThrow();
    expect(() => checkTiers([{ ...model, tiers: ["fast", "ultra"] }])).toThrow(
      "the model m-1 names the tier ultra, for which video has no price; it has fast, standard, high",
    );
  });
});
