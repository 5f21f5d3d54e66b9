import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addModel } from "#framemill/models/add-model.js";
import { ownFileInput, runFfmpeg } from "#framemill/media/ffmpeg.js";
import { probeMedia } from "#framemill/media/probe.js";
import type { SpeechRequest } from "#framemill/modalities/speech/request.js";
import {
  expectNoChildren,
  fixture,
  openVoice,
  type Said,
  say,
  setupOf,
  type Voice,
} from "../../support/speech-harness.js";
import {
  KOKORO_VOCABULARY,
  KOKORO_VOICES,
  type KokoroForm,
  writeTinyKokoro,
} from "../../support/tiny-kokoro.js";

let folder: string;
const voices: Voice[] = [];
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "framemill-speech-"))));
afterAll(async () => {
  for (const voice of voices) await voice.close();
  await rm(folder, { recursive: true });
  await expectNoChildren();
});

/** A folder in a published layout as a package, opened until the tests are over. */
async function addVoice(source: string, id: string): Promise<Voice> {
  const { path } = await addModel(source, { modelsDir: folder, id, licence: "MIT" });
  const voice = await openVoice(path);
  voices.push(voice);
  return voice;
}

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

describe("a Piper voice", () => {
  let piper: Voice;
  beforeAll(async () => void (piper = await addVoice(fixture("piper"), "piper")));

  it("is fed begin, pads, sounds of espeak-ng, end, for the speaker that was named", async () => {
    const input = "Hello, world!";
    const [abe, bea] = await Promise.all(
      ["abe", "bea"].map((voice) => piper.say({ input, voice, format: "wav" })),
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

  it("is encoded as pcm of 24 kHz, as OpenAI's is, whatever its own rate", async () => {
    const { bytes, output } = await piper.say({ format: "pcm" });
    expect(Math.abs(bytes.byteLength / 2 / 24_000 - output.audioSeconds)).toBeLessThan(0.005);
  });

  it.each([
    ["mp3", "mp3", 22_050],
    ["opus", "opus", 48_000],
    ["aac", "aac", 22_050],
    ["flac", "flac", 22_050],
    ["wav", "pcm_s16le", 22_050],
  ] as const)(
    "is encoded as %s of codec %s at %i Hz, as long as it is",
    async (format, codec, sampleRateHz) => {
      const { bytes, output } = await piper.say({ format });
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

  it("speaks at its own speeds, and is stretched to others", async () => {
    const plain = await piper.say();
    for (const speed of [2, 4, 0.25]) {
      const bent = await piper.say({ speed });
      const ratio = plain.output.audioSeconds / bent.output.audioSeconds / speed;
      // Pieces of a tenth of a second are stretched by some milliseconds more or less.
      expect(Math.abs(ratio - 1)).toBeLessThan(0.05);
    }
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
    const withPhonemes = { ...without, modelPath: join(folder, "piper") };
    await expect(say(withPhonemes.modelPath, {}, withPhonemes)).rejects.toMatchObject({
      code: "service_unavailable",
      message: expect.stringContaining("ESPEAK_PATH"),
    });
  });

  it.each([
    [{ input: "… ?!" }, "input"],
    [{ language: "tlh" }, "language"],
    [{ voice: "eve" }, "voice"],
  ])("refuses %j before the first byte", async (changes, param) => {
    await expect(piper.say(changes)).rejects.toMatchObject({ code: "invalid_value", param });
  });
});

describe("a VITS voice of the transformers library", () => {
  it("is fed letters with blanks between, and stretched where it is to be faster", async () => {
    const mms = await addVoice(fixture("hf-vits"), "mms");
    const { bytes, output } = await mms.say({ input: "Hello World", format: "wav" });
    const ids = [6, 0, 7, 0, 10, 0, 10, 0, 11, 0, 19, 0, 12, 0, 11, 0, 13, 0, 10, 0, 5];
    expect(levelsOf(wordsOf(bytes), 256).join(" ")).toContain(ids.slice(1, -1).join(" "));
    expect(bytes.readUInt32LE(24)).toBe(16_000);
    const fast = await mms.say({ input: "Hello World", format: "wav", speed: 1.25 });
    expect(output.audioSeconds / fast.output.audioSeconds).toBeCloseTo(1.25, 1);
  });
});

describe("a Kokoro voice", () => {
  const forms: KokoroForm[] = ["onnx-community", "hexgrad", "kokoro-onnx"];
  const kokoros = new Map<string, Voice>();
  beforeAll(async () => {
    for (const form of forms) {
      const source = join(folder, "sources", form);
      writeTinyKokoro(source, form);
      kokoros.set(form, await addVoice(source, form));
    }
  });
  const sayIn = (form: string, changes: Partial<SpeechRequest>): Promise<Said> => {
    const kokoro = kokoros.get(form);
    if (kokoro === undefined) throw new Error(`there is no ${form}`);
    return kokoro.say({ input: "Hello", ...changes });
  };

  it.each(forms)("of %s is fed sounds between pads, in the style of as many", async (form) => {
    for (const [voice, name] of KOKORO_VOICES.entries()) {
      const { bytes, output } = await sayIn(form, { voice: name, format: "wav" });
      const sounds = Array.from(name.startsWith("b") ? "həlˈəʊ" : "həlˈoʊ");
      // Six sounds have the sixth row of the voice's styles.
      const ids = sounds.map((sound) => KOKORO_VOCABULARY[sound] ?? 0);
      const levels = [0, ...ids, 0].map((id) => 2 * (id + 200 * voice + 5 / 2));
      expect(levelsOf(wordsOf(bytes), 2_048).join(" ")).toContain(levels.slice(1, -1).join(" "));
      expect(output).toEqual({ audioSeconds: (8 * 2_400) / 24_000, inputTokens: 6 });
    }
  });

  it.each([
    ["onnx-community", 2, 0.4],
    ["onnx-community", 0.5, 1.6],
    ["hexgrad", 2, 0.4],
  ])("of %s speaks at speed %d by itself", async (form, speed, seconds) => {
    const { output } = await sayIn(form, { speed });
    expect(output.audioSeconds).toBe(seconds);
  });

  it("whose graph knows whole speeds only is stretched to others", async () => {
    const { output } = await sayIn("hexgrad", { speed: 1.6 });
    // Stretching works on pieces of some tens of milliseconds.
    expect(Math.abs(output.audioSeconds - 0.8 / 1.6)).toBeLessThan(0.05);
  });
});

/** An entry of ONNX's metadata_props, which may stand behind the others in a file of protobuf. */
function metadataOf(key: string, value: string): Buffer {
  const field = (number: number, text: Buffer) =>
    Buffer.concat([Buffer.from([number * 8 + 2, text.length]), text]);
  return field(14, Buffer.concat([field(1, Buffer.from(key)), field(2, Buffer.from(value))]));
}

describe("voices of tiny exports", () => {
  const published = (row: string) =>
    fileURLToPath(new URL(`../../fixtures/published/${row}/model`, import.meta.url));
  let kitten: Voice;
  let supertonic: Voice;
  beforeAll(async () => {
    kitten = await addVoice(published("speech-kitten-tts"), "kitten");
    supertonic = await addVoice(published("speech-supertonic-3"), "supertonic");
  });
  const sayShort = (voice: Voice, changes: Partial<SpeechRequest>) =>
    voice.say({ input: "The boat is red.", format: "wav", ...changes });

  it("of kokoro-onnx read by the vocabulary in their graph, or else by Kokoro's own", async () => {
    const source = join(folder, "sources", "kokoro-with-vocabulary");
    await mkdir(source, { recursive: true });
    const plain = published("speech-kokoro-onnx");
    await copyFile(join(plain, "voices-v1.0.bin"), join(source, "voices-v1.0.bin"));
    const graph = await readFile(join(plain, "kokoro-v1.0.onnx"));
    const written = metadataOf("kokoro_config", JSON.stringify({ vocab: { h: 50, l: 54 } }));
    await writeFile(join(source, "kokoro-v1.0.onnx"), Buffer.concat([graph, written]));
    const own = await addVoice(plain, "kokoro-own-vocabulary");
    const other = await addVoice(source, "kokoro-with-vocabulary");
    const asked = { input: "Hello", voice: "am_michael" };
    expect((await own.say(asked)).output.inputTokens).toBe("həlˈoʊ".length);
    expect((await other.say(asked)).output.inputTokens).toBe("hl".length);
  });

  it("of KittenTTS are called as their config and as their archive call them", async () => {
    const [bella, same, hugo] = await Promise.all(
      ["Bella", "expr-voice-2-f", "Hugo"].map((voice) => sayShort(kitten, { voice })),
    );
    expect(bella?.bytes.equals(same?.bytes ?? Buffer.alloc(0))).toBe(true);
    expect(bella?.bytes.equals(hugo?.bytes ?? Buffer.alloc(0))).toBe(false);
    const nobody = sayShort(kitten, { voice: "Kiki" });
    await expect(nobody).rejects.toThrow("voice must be one of Bella, Hugo, expr-voice-2-f");
  });

  it("of Supertonic say the same again, at their rate and at the speed that is asked for", async () => {
    const [once, again, fast] = await Promise.all(
      [1, 1, 1.5].map((speed) => sayShort(supertonic, { voice: "M1", speed })),
    );
    expect(once?.bytes.readUInt32LE(24)).toBe(44_100);
    expect(again?.bytes.equals(once?.bytes ?? Buffer.alloc(0))).toBe(true);
    const ratio = (once?.output.audioSeconds ?? 0) / (fast?.output.audioSeconds ?? 1);
    expect(ratio).toBeCloseTo(1.5, 2);
    const slow = await sayShort(supertonic, { voice: "M1", speed: 0.5 });
    const stretched = slow.output.audioSeconds / (once?.output.audioSeconds ?? 1);
    expect(Math.abs(stretched - 2)).toBeLessThan(0.3);
  });

  it("of Supertonic name the language", async () => {
    const said = await Promise.all(
      [null, "en", "ko-KR"].map((language) => sayShort(supertonic, { voice: "M1", language })),
    );
    expect(new Set(said.map(({ bytes }) => bytes.toString("base64"))).size).toBe(3);
  });

  it("refuse languages that they do not speak, and texts without a sound", async () => {
    const refused = (param: string, message: string) =>
      expect.objectContaining({ code: "invalid_value", param, message });
    await expect(sayShort(kitten, { voice: "Bella", language: "de" })).rejects.toEqual(
      refused("language", "language must be en, all that KittenTTS speaks, got de"),
    );
    await expect(sayShort(supertonic, { voice: "M1", language: "zh" })).rejects.toEqual(
      refused("language", expect.stringMatching(/^language must be one of en, ko, .*, got zh$/)),
    );
    await expect(sayShort(supertonic, { voice: "M1", input: "?! 😀" })).rejects.toEqual(
      refused("input", "input must hold something that can be spoken"),
    );
  });
});

it("the starter voice speaks what stands in quotation marks or brackets as it would without them", async () => {
  const path = fileURLToPath(new URL("../../../models/service-voice-1", import.meta.url));
  const starter = await openVoice(path);
  voices.push(starter);
  const marked = await starter.say({ input: "“Yes,” he (quietly) said." });
  const plain = await starter.say({ input: "Yes, he quietly said." });
  expect(marked.bytes.equals(plain.bytes)).toBe(true);
});
