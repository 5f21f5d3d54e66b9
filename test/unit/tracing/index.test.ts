import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { traced, UNTRACED } from "#framemill/core/tracing.js";
import { JobError } from "#framemill/core/errors.js";
import { openTracing } from "#framemill/tracing/index.js";
import {
  chooseTrace,
  drawTraceText,
  parseTraces,
  type TraceSpan,
} from "#framemill/tracing/read-trace.js";

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const sampled = `00-${TRACE_ID}-00f067aa0ba902b7-01`;
const unsampled = `00-${TRACE_ID}-00f067aa0ba902b7-00`;

describe("traces in a file", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-tracing-"));
  });
  afterAll(async () => await rm(folder, { recursive: true, force: true }));

  const open = async (name: string, ratio: number) => {
    const file = join(folder, name);
    const identity = { service: "framemill-worker", instance: "w1", onFailure: () => {} };
    const { tracer, close } = await openTracing({ file, ratio }, identity);
    const read = async (): Promise<TraceSpan[]> => {
      await close();
      return parseTraces(await readFile(file, "utf8").catch(() => ""));
    };
    return { tracer, read };
  };

  it("are read back with parents, times, errors and attributes", async () => {
    const { tracer, read } = await open("whole.jsonl", 1);
    const parent = tracer.start("parent", { kind: "server", startedAtMs: 1_000_000_000_000 });
    const work = traced(
      tracer.start("child", { parent: parent.traceparent, attributes: { n: 2 } }),
      async () => await Promise.reject(new JobError("out_of_memory", "a private sentence")),
    );
    await expect(work).rejects.toThrow("a private sentence");
    parent.end(1_000_000_000_012.5);
    const spans = await read();
    const [child, above] = ["child", "parent"].map((name) =>
      spans.find((span) => span.name === name),
    );
    expect(above).toMatchObject({ service: "framemill-worker", parentId: undefined });
    expect((above?.endedAtMs ?? 0) - (above?.startedAtMs ?? 0)).toBeCloseTo(12.5, 2);
    expect(child).toMatchObject({ parentId: above?.spanId, error: "out_of_memory" });
    expect(child?.attributes).toEqual({ n: 2, "error.type": "out_of_memory" });
    expect(JSON.stringify(spans)).not.toContain("private");
    expect(drawTraceText(chooseTrace(spans))).toMatch(/^parent .*\n {2}child .*out_of_memory$/m);
  });

  it("hold what a caller wants traced, whatever share of the others is", async () => {
    const { tracer, read } = await open("none.jsonl", 0);
    for (const [name, parent] of Object.entries({ own: undefined, sampled, unsampled })) {
      const span = tracer.start(name, { parent });
      tracer.start(`below ${name}`, { parent: span.traceparent }).end();
      span.end();
    }
    const names = (await read()).map(({ name }) => name);
    expect(names.toSorted()).toEqual(["below sampled", "sampled"]);
  });

  it("are none without a place for them, and a caller's own context goes on as it came", async () => {
    const identity = { service: "framemill-worker", instance: "w1", onFailure: () => {} };
    const { tracer } = await openTracing({ ratio: 1 }, identity);
    expect(tracer).toBe(UNTRACED);
    expect(tracer.start("work", { parent: sampled }).traceparent).toBe(sampled);
    expect(tracer.start("work").traceparent).toBeUndefined();
  });
});
