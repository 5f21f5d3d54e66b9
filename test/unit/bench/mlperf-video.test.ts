import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { benchMlperfVideo, mlperfMismatches } from "#framemill/bench/suites/mlperf-video.js";

describe("MLPerf's text-to-video settings", () => {
  test("fit a package that states all of them", () => {
    const model = {
      id: "wan2.2-t2v-a14b",
      modality: "video",
      shapes: { frameRate: 16, native: [720, 1280], temporalStride: 4 },
      sampler: { steps: 20, guidance: [4, 3], guidanceBoundary: 0.875 },
    };
    expect(mlperfMismatches(model)).toEqual([]);
    const faster = { ...model, sampler: { ...model.sampler, steps: 4 } };
    expect(mlperfMismatches(faster)).toEqual(["denoising steps: 4, 20 wanted"]);
  });

  test("name what this repository's own model lacks", async () => {
    const manifest = new URL("../../../models/service-motion-1/model.json", import.meta.url);
    const mismatches = mlperfMismatches(JSON.parse(await readFile(manifest, "utf8")));
    expect(mismatches).toContain("height and width: not stated, [720,1280] wanted");
    expect(mismatches).toContain("frames a second: 24, 16 wanted");
    expect(mismatches).toContain("frames made of a clip: not stated, 81 wanted");
  });

  test("single stream makes one clip at a time, offline as many at once as a worker takes", async () => {
    let open = 0;
    const together: number[] = [];
    const make = async () => {
      together.push((open += 1));
      await new Promise((resolve) => setImmediate(resolve));
      open -= 1;
    };
    const prompts = ["a", "b", "c"];
    const { rows, distributions } = await benchMlperfVideo({
      modelId: "m",
      prompts,
      slots: 2,
      make,
    });
    expect(together).toEqual([1, 1, 1, 1, 2, 2]);
    expect(rows).toHaveLength(1);
    expect(distributions).toMatchObject([{ what: "single stream: a clip", count: 3 }]);
  });
});
