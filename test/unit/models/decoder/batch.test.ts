import * as fc from "fast-check";
import { openValues } from "#framemill/runtime/ort/value.js";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { TextJob } from "#framemill/models/decoder/request/request.js";
import { createFakeBatch, createReader, POISON } from "./fake-decoder.js";

/** Prompts of many lengths; each joins at its own step and ends at its own. */
const JOBS = [1, 6, 11, 5, 10, 4, 9].map((length, index) => ({
  promptTokens: Array.from({ length }, (_, at) => 1 + ((at * 3 + index) % 90)),
  maxTokens: 3 + ((index * 7) % 13),
}));

async function finish({ batch }: ReturnType<typeof createFakeBatch>, reader = createReader()) {
  for (let step = 0; !batch.isIdle && step < 500; step += 1) reader.read(await batch.step());
  return reader;
}

async function writeAlone(job: Partial<TextJob>): Promise<number[]> {
  const fake = createFakeBatch("end");
  await fake.add(0, job);
  return (await finish(fake)).tokens["0.0"] ?? [];
}

describe("continuous batching", () => {
  test.each(["end", "start", "equal"] as const)(
    "writes what each request alone would, with short rows at the %s",
    async (alignment) => {
      const before = openValues();
      const fake = createFakeBatch(alignment);
      const reader = createReader();
      for (const [id, job] of JOBS.entries()) {
        await fake.add(id, job);
        reader.read(await fake.batch.step());
        reader.read(await fake.batch.step());
      }
      await finish(fake, reader);
      for (const [id, job] of JOBS.entries())
        expect(reader.tokens[`${id}.0`]).toEqual(await writeAlone(job));
      expect(openValues() - before).toBe(0);
      const most = Math.max(...fake.runs.map(({ rows }) => rows));
      expect(most).toBeGreaterThan(alignment === "equal" ? 0 : 3);
    },
  );

  test("reads the prompt of several choices once", async () => {
    const fake = createFakeBatch("end");
    await fake.add(1, { promptTokens: [5, 6, 7, 8], n: 3, temperature: 1, maxTokens: 4 });
    const { tokens, ended } = await finish(fake);
    expect(Object.keys(tokens).toSorted()).toEqual(["1.0", "1.1", "1.2"]);
    expect(fake.runs.filter(({ width }) => width > 1)).toEqual([{ rows: 1, width: 4 }]);
    expect(ended.get(1)).toBe("end");
  });

  test("fails only the request whose logits are not numbers", async () => {
    const fake = createFakeBatch("end");
    await fake.add(1, { promptTokens: [3, 4] });
    await fake.add(2, { promptTokens: [POISON, 4] });
    const { tokens, ended } = await finish(fake);
    expect(ended.get(2)).toBe("invalid_output");
    expect(tokens["2.0"]).toBeUndefined();
    expect(tokens["1.0"]).toEqual(await writeAlone({ promptTokens: [3, 4] }));
  });

  test("frees the rows of a cancelled request within one step", async () => {
    const before = openValues();
    const fake = createFakeBatch("end");
    await fake.add(1, { promptTokens: [3, 4], n: 2, maxTokens: 100 });
    await fake.add(2, { promptTokens: [5], maxTokens: 100 });
    await fake.batch.step();
    await fake.batch.step();
    expect(fake.runs.at(-1)).toEqual({ rows: 3, width: 1 });
    fake.batch.cancel(1);
    const items = await fake.batch.step();
    expect(fake.runs.at(-1)).toEqual({ rows: 1, width: 1 });
    expect(items.map(({ id }) => id)).toEqual([2]);
    fake.batch.cancel(2);
    await fake.batch.step();
    expect([fake.batch.isIdle, openValues() - before]).toEqual([true, 0]);
  });

  test("keeps writing while a long prompt is read, and reads it all the same", async () => {
    const fake = createFakeBatch("end");
    const reader = createReader();
    await fake.add(1, { promptTokens: [3], maxTokens: 100 });
    reader.read(await fake.batch.step());
    const long = Array.from({ length: 1_300 }, (_, index) => 1 + (index % 200));
    await fake.add(2, { promptTokens: long });
    for (let step = 1; step <= 3; step += 1) {
      const before = reader.tokens["1.0"]?.length ?? 0;
      reader.read(await fake.batch.step());
      expect(reader.tokens["1.0"]?.length).toBe(before + 1);
    }
    expect(reader.tokens["2.0"]?.[0]).toBe((await writeAlone({ promptTokens: long }))[0]);
  });

  test("holds running answers for a tenth of a second at most while prompts are read", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const fake = createFakeBatch("end", {}, (width) => vi.advanceTimersByTime(width));
    await fake.add(1, { promptTokens: Array.from({ length: 100 }, () => 3), maxTokens: 100 });
    await fake.batch.step();
    await fake.batch.step();
    for (const id of [2, 3])
      await fake.add(id, { promptTokens: Array.from({ length: 700 }, () => id) });
    const reader = createReader();
    for (let step = 1; reader.tokens["3.0"] === undefined; step += 1) {
      const startedAt = performance.now();
      reader.read(await fake.batch.step());
      expect(performance.now() - startedAt).toBeLessThan(100);
      expect(reader.tokens["1.0"]).toHaveLength(step);
    }
  });

  test("lets a request wait while rows or memory are taken, in the order of arrival", async () => {
    const fake = createFakeBatch("end", { maxRows: 2 });
    const reader = createReader();
    await fake.add(1, { promptTokens: [3], maxTokens: 3 });
    await fake.add(2, { promptTokens: [4], maxTokens: 3, n: 2 });
    await fake.add(3, { promptTokens: [5], maxTokens: 3 });
    reader.read(await fake.batch.step());
    expect(Object.keys(reader.tokens)).toEqual(["1.0"]);
    await finish(fake, reader);
    expect([...reader.ended.keys()]).toEqual([1, 2, 3]);
    expect(Math.max(...fake.runs.map(({ rows }) => rows))).toBe(2);
  });

  test("cuts at a stop text and at the end of the model's context", async () => {
    const fake = createFakeBatch("end");
    const [, second = 0, third = 0] = await writeAlone({ promptTokens: [60, 61] });
    const stop = [String.fromCodePoint(second, third)];
    await fake.add(1, { promptTokens: [60, 61], stop });
    const { tokens } = await finish(fake);
    expect(tokens["1.0"]).toHaveLength(3);
    const tooLong = fake.add(2, { promptTokens: Array.from({ length: 4_096 }, () => 1) });
    await expect(tooLong).rejects.toMatchObject({
      code: "context_length_exceeded",
      param: "messages",
      message: expect.stringMatching(
        /^This model's maximum context length is 4096 tokens\. However, .* 4096 tokens/,
      ),
    });
  });
});

/** Tokens of no stop, told apart by the first. */
function promptOf(length: number, first: number): number[] {
  return [first, ...Array.from({ length: length - 1 }, (_, at) => 1 + ((at * 7) % 80))];
}

describe("the prompt cache", () => {
  const ROOM = { promptCacheBytes: 2 ** 20 };
  const TURN = { promptTokens: promptOf(100, 5), maxTokens: 40, cacheScope: "mine" };

  test.each(["end", "start", "equal"] as const)(
    "reads of a later turn only what is new, with short rows at the %s",
    async (alignment) => {
      const before = openValues();
      const fake = createFakeBatch(alignment, ROOM);
      const reader = createReader();
      await fake.add(1, TURN);
      await fake.add(2, { ...TURN, promptTokens: promptOf(60, 9), maxTokens: 50 });
      await finish(fake, reader);
      const later = [...TURN.promptTokens, ...(reader.tokens["1.0"] ?? []), 44, 45, 46];
      fake.runs.length = 0;
      await fake.add(3, { ...TURN, promptTokens: later });
      await finish(fake, reader);
      // 139 tokens of the first turn went into memory: 4 blocks of 32.
      expect(reader.cachedTokens).toEqual(
        new Map([
          [1, 0],
          [2, 0],
          [3, 128],
        ]),
      );
      expect(fake.runs[0]).toEqual({ rows: 1, width: later.length - 128 });
      expect(reader.tokens["3.0"]).toEqual(await writeAlone({ ...TURN, promptTokens: later }));
      expect(openValues() - before).toBe(0);
    },
  );

  test("serves no other project, and nobody where a request has none", async () => {
    const fake = createFakeBatch("end", ROOM);
    const reader = createReader();
    for (const [id, cacheScope] of ["mine", "theirs", undefined, undefined, "mine"].entries()) {
      await fake.add(id, { ...TURN, cacheScope });
      await finish(fake, reader);
    }
    expect([...reader.cachedTokens.values()]).toEqual([0, 0, 0, 0, 96]);
  });

  test("does not keep what a failed answer left", async () => {
    const fake = createFakeBatch("end", ROOM);
    const reader = createReader();
    const promptTokens = [...promptOf(64, 5), POISON];
    for (const id of [1, 2]) await fake.add(id, { ...TURN, promptTokens });
    await finish(fake, reader);
    await fake.add(3, { ...TURN, promptTokens: promptTokens.slice(0, 64) });
    await finish(fake, reader);
    expect([...reader.ended.values()]).toEqual(["invalid_output", "invalid_output", "end"]);
    expect(reader.cachedTokens.get(3)).toBe(0);
  });

  test("gives up what was least lately used, to keep to its bytes", async () => {
    const fake = createFakeBatch("end", { promptCacheBytes: 6 * 32 * 8 });
    const reader = createReader();
    for (const [id, first] of [1, 2, 3, 2, 3, 1, 2].entries()) {
      await fake.add(id, { ...TURN, maxTokens: 4, promptTokens: promptOf(100, first) });
      await finish(fake, reader);
    }
    expect([...reader.cachedTokens.values()]).toEqual([0, 0, 0, 96, 96, 0, 0]);
  });

  test("answers the same whatever it gave up", async () => {
    const blocks = 6;
    const turn = fc.record({
      first: fc.integer({ min: 1, max: 4 }),
      length: fc.integer({ min: 1, max: 260 }),
    });
    const property = fc.asyncProperty(fc.array(turn, { maxLength: 12 }), async (turns) => {
      const fake = createFakeBatch("end", { promptCacheBytes: blocks * 32 * 8 });
      const reader = createReader();
      const add = async (id: number, first: number, length: number) =>
        await fake.add(id, { ...TURN, maxTokens: 4, promptTokens: promptOf(length, first) });
      for (const [id, { first, length }] of turns.entries()) {
        await add(id, first, length);
        if (id % 3 === 2) await finish(fake, reader);
      }
      await finish(fake, reader);
      for (const [id, { first, length }] of turns.entries())
        expect(reader.tokens[`${id}.0`]).toEqual(
          await writeAlone({ promptTokens: promptOf(length, first), maxTokens: 4 }),
        );
    });
    await fc.assert(property, { numRuns: 40 });
  });
});
