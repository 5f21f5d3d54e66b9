import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addModel } from "#framemill/inference/layouts/add-model.js";
import { loadModelPackage } from "#framemill/inference/model-package.js";
import { ownFileInput, runFfmpeg } from "#framemill/media/ffmpeg.js";
import { probeMedia } from "#framemill/media/probe.js";
import { openKokoro } from "#framemill/modalities/speech/kokoro.js";
import { describeWithEspeak } from "../../support/espeak.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";
import {
  expectNoChildren,
  fixture,
  type Said,
  say,
  setupOf,
} from "../../support/speech-harness.js";

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "framemill-speech-"))));
afterAll(async () => {
  await rm(folder, { recursive: true });
  await expectNoChildren();
});

/** Runs of one level: what the fixtures' graphs make of each id. */
function levelsOf(samples: Int16Array, unit: number): number[] {
  const levels = Array.from(samples, (sample) => Math.round((sample / 32_767) * unit));
  return levels.filter((level, index) => level !== levels[index - 1]);
}

function wordsOf(wav: Buffer): Int16Array {
  const data = wav.subarray(44);
  return new Int16Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength));
}

async function decodedSeconds(path: string, sampleRateHz: number): Promise<number> {
  const target = ["-f", "s16le", "-ar", String(sampleRateHz), "-"];
  const { stdout } = await runFfmpeg(["-v", "error", ...ownFileInput(path), ...target]);
  return stdout.byteLength / 2 / sampleRateHz;
}

describeWithEspeak("a Piper voice", () => {
  let piper: string;
  beforeAll(async () => {
    piper = (await addModel(fixture("piper"), { modelsDir: folder, id: "piper", licence: "MIT" }))
      .path;
  });

  it("is fed begin, pads, sounds of espeak-ng, end, for the speaker that was named", async () => {
    const input = "Hello, world!";
    const [abe, bea] = await Promise.all(
      ["abe", "bea"].map((voice) => say(piper, { input, voice, format: "wav" })),
    );
    // həlˈoʊ, wˈɜːld! with a pad behind each; o has two ids; noise_scale 0.5 of the config is in each level.
    const sounds = [20, 59, 24, 120, [27, 127], 100, 8, 3, 35, 120, 62, 122, 24, 17, 4];
    const ids = [1, 0, ...sounds.flatMap((sound) => [sound, 0].flat()), 2];
    const expected = ids.filter((id, index) => id !== ids[index - 1]).map((id) => id + 0.5);
    const middle = (said: Said | undefined, shift: number) =>
      levelsOf(wordsOf(said?.bytes ?? Buffer.alloc(44)), 2_048).map((level) => level / 2 - shift);
    // The ends are faded, so the first and last ids are not read.
    const inner = expected.slice(2, -2).join(" ");
    expect(middle(abe, 0).join(" ")).toContain(inner);
    expect(middle(bea, 200).join(" ")).toContain(inner);
    expect(abe?.output.inputTokens).toBe(15);
  });

  it("is heard as pcm of 24 kHz, as OpenAI's is, whatever its own rate", async () => {
    const { bytes, output } = await say(piper, { format: "pcm" });
    expect(Math.abs(bytes.byteLength / 2 / 24_000 - output.audioSeconds)).toBeLessThan(0.005);
  });

  it.each([
    ["mp3", "mp3", 22_050],
    ["opus", "opus", 48_000],
    ["aac", "aac", 22_050],
    ["flac", "flac", 22_050],
    ["wav", "pcm_s16le", 22_050],
  ] as const)(
    "is heard as %s of codec %s at %i Hz, as long as it is",
    async (format, codec, sampleRateHz) => {
      const { bytes, output } = await say(piper, { format });
      const path = join(folder, `said.${format}`);
      await writeFile(path, bytes);
      const { audio } = await probeMedia(path);
      expect(audio).toMatchObject({ codec, sampleRateHz, channels: 1 });
      const frameSeconds = 1_152 / 22_050;
      const surplus = (await decodedSeconds(path, sampleRateHz)) - output.audioSeconds;
      expect(surplus).toBeGreaterThan(-0.001);
      // What a stream's header cannot say: the encoder's delay and the filling of its last frame.
      expect(surplus).toBeLessThan(codec === "mp3" || codec === "aac" ? 3 * frameSeconds : 0.001);
    },
  );

  it.each([2, 4, 0.25])("speaks at speed %f", async (speed) => {
    const [plain, bent] = [await say(piper), await say(piper, { speed })];
    const ratio = plain.output.audioSeconds / bent.output.audioSeconds / speed;
    // Pieces of a tenth of a second are stretched by some milliseconds more or less.
    expect(Math.abs(ratio - 1)).toBeLessThan(0.05);
  });

  it("that reads letters needs no espeak-ng; one that reads phonemes says what is missing", async () => {
    const modelPath = join(folder, "letters");
    await mkdir(modelPath);
    const config = JSON.parse(await readFile(join(fixture("piper"), "piper.onnx.json"), "utf8"));
    await copyFile(join(fixture("piper"), "piper.onnx"), join(modelPath, "letters.onnx"));
    await writeFile(
      join(modelPath, "letters.onnx.json"),
      JSON.stringify({ ...config, phoneme_type: "text" }),
    );
    await addModel(modelPath, { modelsDir: folder, id: "letters", licence: "MIT" });
    const without = { ...setupOf(modelPath), espeakPath: "/nowhere/espeak-ng" };
    expect((await say(modelPath, { input: "Hello" }, without)).output.inputTokens).toBe(4);
    await expect(say(piper, {}, { ...without, modelPath: piper })).rejects.toMatchObject({
      code: "service_unavailable",
      message: expect.stringContaining("ESPEAK_PATH"),
    });
  });

  it.each([
    [{ input: "… ?!" }, "input"],
    [{ language: "tlh" }, "language"],
    [{ voice: "eve" }, "voice"],
  ])("refuses %j before the first byte", async (changes, param) => {
    await expect(say(piper, changes)).rejects.toMatchObject({ code: "invalid_value", param });
  });
});

describe("a VITS voice of the transformers library", () => {
  it("is fed letters with blanks between, and stretched where it is to be faster", async () => {
    const options = { modelsDir: folder, id: "mms", licence: "MIT" };
    const { path } = await addModel(fixture("hf-vits"), options);
    const { bytes, output } = await say(path, { input: "Hello World", format: "wav" });
    const ids = [6, 0, 7, 0, 10, 0, 10, 0, 11, 0, 19, 0, 12, 0, 11, 0, 13, 0, 10, 0, 5];
    expect(levelsOf(wordsOf(bytes), 256).join(" ")).toContain(ids.slice(1, -1).join(" "));
    expect(bytes.readUInt32LE(24)).toBe(16_000);
    const fast = await say(path, { input: "Hello World", format: "wav", speed: 1.25 });
    expect(output.audioSeconds / fast.output.audioSeconds).toBeCloseTo(1.25, 1);
  });
});

describeWithModels("Kokoro", () => {
  describeWithEspeak("from text", kokoroTests);
});

function kokoroTests(): void {
  const source = publishedModel("tiny-official", "tts-kokoro");
  const voices = publishedModel("tts-kokoro-voices");
  const golden = { ids: [0, 50, 83, 54, 156, 57, 135, 0], samples: 124_800 };
  // What the vocabulary of the same folder makes of həlˈoʊ: its letters are one less than the golden's.
  const helloIds = [0, 49, 83, 53, 156, 56, 135, 0];

  /** A real voice (25 frames an id) but for the row of 8 ids, which is the golden style (26 frames). */
  async function goldenVoice(): Promise<Uint8Array> {
    const table = await readFile(join(voices, "voices", "bf_emma.bin"));
    const style = await readFile(join(source, "golden", "style.npy"));
    table.set(style.subarray(-1_024), 6 * 1_024);
    return table;
  }

  async function kokoro(graph: string): Promise<string> {
    const folderOfOne = join(folder, "sources", graph);
    await mkdir(join(folderOfOne, "onnx"), { recursive: true });
    await copyFile(join(source, "config.json"), join(folderOfOne, "config.json"));
    await copyFile(join(source, "onnx", `${graph}.onnx`), join(folderOfOne, "onnx", "model.onnx"));
    await mkdir(join(folderOfOne, "voices"));
    await writeFile(join(folderOfOne, "voices", "golden.bin"), await goldenVoice());
    const options = { modelsDir: folder, id: graph, extra: [voices], licence: "Apache-2.0" };
    return (await addModel(folderOfOne, options)).path;
  }

  it.each([
    ["model", 0.5],
    ["model_speed_int32", 1],
  ])(
    "%s reads a text as its ids, and makes of the golden ids 600 samples a frame of duration",
    async (graph, slowest) => {
      const path = await kokoro(graph);
      const model = await openKokoro(await loadModelPackage(path), setupOf(path));
      try {
        expect(model.speeds.slowest).toBe(slowest);
        const { signal } = new AbortController();
        const text = { text: "Hello", voice: "af_heart", language: null, signal };
        const [utterance] = await model.prepare(text);
        expect(utterance).toEqual({ ids: helloIds, tokenCount: 6 });
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

  it("speaks with the real voices, an integer graph at a broken speed, below full scale", async () => {
    const path = join(folder, "model_speed_int32");
    const plain = await say(path, { input: "Hello", voice: "am_michael", format: "wav" });
    const fast = await say(path, { input: "Hello", voice: "ash", format: "wav", speed: 1.5 });
    expect(plain.output.audioSeconds).toBeCloseTo((25 * 8 * 600) / 24_000, 0);
    expect(plain.output.audioSeconds / fast.output.audioSeconds).toBeCloseTo(1.5, 1);
    const peak = Math.max(...wordsOf(plain.bytes).map(Math.abs));
    expect(peak).toBeGreaterThan(1_000);
    expect(peak).toBeLessThanOrEqual(Math.round(0.99 * 32_767));
  });
}
