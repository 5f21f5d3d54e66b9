import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addModel } from "#framemill/models/add-model.js";
import { loadModelPackage } from "#framemill/runtime/packages/model-package.js";
import { openKokoro } from "#framemill/models/kokoro/open.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";
import { say, setupOf } from "../../support/speech-harness.js";

const source = publishedModel("tiny-official", "tts-kokoro");
const voices = publishedModel("tts-kokoro-voices");
const golden = { ids: [0, 50, 83, 54, 156, 57, 135, 0], samples: 124_800 };
// What the vocabulary of the same folder makes of həlˈoʊ: its letters are one less than the golden's.
const helloIds = [0, 49, 83, 53, 156, 56, 135, 0];

/** A real voice (25 frames an id) but for the row of 8 ids, which is the golden style (26 frames). */
async function goldenVoice(): Promise<Uint8Array> {
  const table = await readFile(join(voices, "voices", "bf_emma.bin"));
  const style = await readFile(join(source, "golden", "style.npy"));
  table.set(style.subarray(-1_024), 5 * 1_024);
  return table;
}

describeWithModels("the published Kokoro", () => {
  let folder: string;
  beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "framemill-speech-"))));
  afterAll(() => rm(folder, { recursive: true }));

  async function addKokoro(graph: string): Promise<string> {
    const own = join(folder, "sources", graph);
    await mkdir(join(own, "onnx"), { recursive: true });
    await copyFile(join(source, "config.json"), join(own, "config.json"));
    await copyFile(join(source, "onnx", `${graph}.onnx`), join(own, "onnx", "model.onnx"));
    await mkdir(join(own, "voices"));
    await writeFile(join(own, "voices", "golden.bin"), await goldenVoice());
    const options = { modelsDir: folder, id: graph, extra: [voices], licence: "Apache-2.0" };
    return (await addModel(own, options)).path;
  }

  test.each([
    ["model", 0.5],
    ["model_speed_int32", 1],
  ])(
    "%s reads a text as its ids, and makes of the golden ids 600 samples a frame of duration",
    async (graph, slowest) => {
      const path = await addKokoro(graph);
      const model = await openKokoro(await loadModelPackage(path), setupOf(path));
      try {
        expect(model.speeds.slowest).toBe(slowest);
        const { signal } = new AbortController();
        const text = { text: "Hello", voice: "af_heart", language: null, signal };
        expect(await model.prepare(text)).toEqual([{ ids: helloIds, tokenCount: 6 }]);
        const spoken = { ids: golden.ids, tokenCount: 6 };
        for (const speed of [1, 2]) {
          const samples = await model.synthesize(spoken, { voice: "golden", speed });
          expect(samples).toHaveLength(golden.samples / speed);
          expect(samples.every((sample) => Number.isFinite(sample))).toBe(true);
        }
      } finally {
        await model.close();
      }
    },
  );

  test("speaks with a real voice, below full scale", async () => {
    const path = join(folder, "model_speed_int32");
    const { bytes, output } = await say(path, {
      input: "Hello",
      voice: "am_michael",
      format: "wav",
    });
    expect(output.audioSeconds).toBeCloseTo((25 * 8 * 600) / 24_000, 0);
    const peak = Array.from({ length: (bytes.length - 44) / 2 }, (_, at) =>
      Math.abs(bytes.readInt16LE(44 + 2 * at)),
    ).reduce((most, it) => Math.max(most, it));
    expect(peak).toBeGreaterThan(1_000);
    expect(peak).toBeLessThanOrEqual(Math.round(0.99 * 32_767));
  });
});
