import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { describePlacement, hostShare, readPlacement } from "#framemill/runtime/ort/placement.js";
import { Session } from "#framemill/runtime/ort/session.js";
import { float32 } from "#framemill/runtime/tensors/tensor.js";
import { Graph } from "../../../support/onnx.js";

const root = mkdtempSync(join(tmpdir(), "placement-"));
afterAll(() => rmSync(root, { recursive: true }));

test("tells the nodes that ran, but for arithmetic of shapes, and leaves no file", async () => {
  const graph = new Graph();
  const x = graph.input("x", "float32", ["rows", 64]);
  const sum = graph.node("ReduceSum", [graph.node("Tanh", [x])], { keepdims: 0 });
  graph.output("y", "float32", [], sum);
  const path = join(root, "graph.onnx");
  graph.write(path);
  const profilePath = join(root, "profile");
  const session = await Session.open(path, { providers: ["cpu"], threads: 1, profilePath });
  for (const rows of [1, 16]) {
    const feed = float32(new Float32Array(rows * 64), [rows, 64]);
    const { y } = await session.run({ x: feed }, { fetch: ["y"] });
    y?.close();
  }
  const file = session.endProfile();
  const placement = await readPlacement("encoder", file);
  expect(placement).toEqual({
    role: "encoder",
    nodes: { cpu: 2 },
    hostOperators: { Tanh: 1, ReduceSum: 1 },
    copiedBytes: 0,
  });
  expect(existsSync(file)).toBe(false);
  await session.close();
  expect(() => session.endProfile()).toThrow("the graph is closed");
});

describe("in words", () => {
  const placement = {
    role: "denoiser",
    nodes: { cuda: 812, cpu: 18 },
    hostOperators: { Attention: 18 },
    copiedBytes: 4_200_000,
  };

  test("a placement names what fell back to the CPU", () => {
    expect(describePlacement(placement)).toBe(
      "denoiser: 812 of 830 nodes on cuda, 18 on the CPU (Attention × 18), 4.20 MB copied a run",
    );
    expect(hostShare(placement)).toBeCloseTo(18 / 830);
  });

  test("a graph that the example did not run says so", () => {
    const idle = { ...placement, nodes: {}, hostOperators: {} };
    expect(describePlacement(idle)).toBe("denoiser: not run");
    expect(hostShare(idle)).toBe(0);
  });
});
