import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLogMel } from "#framemill/media/mel.js";
import { addModel } from "#framemill/models/add-model.js";
import type { ModelPackage } from "#framemill/runtime/packages/model-package.js";
import { transcribeSound } from "#framemill/models/whisper/transcribe-sound.js";
import { whisperText } from "#framemill/models/whisper/model.js";
import { collect, openSound, withDecoder } from "../../support/transcriber.js";

/** A tiny Whisper with what transformers hears at temperature 0 (scripts/export/transcription.py). */
const ROW = fileURLToPath(new URL("../../fixtures/whisper-tokens", import.meta.url));

interface Golden {
  readonly cases: readonly [{ readonly expected: { readonly text: string } }];
  readonly segments: readonly Segment[];
  readonly long: readonly Segment[];
}

interface Segment {
  readonly tokens: readonly number[];
}

const golden = JSON.parse(readFileSync(join(ROW, "golden.json"), "utf8")) as Golden;
const modelsDir = mkdtempSync(join(tmpdir(), "framemill-whisper-tokens-"));
let model: ModelPackage;
beforeAll(async () => {
  model = await addModel(join(ROW, "model"), { modelsDir });
});
afterAll(() => rmSync(modelsDir, { recursive: true, force: true }));

/** Tokens by segment, and the text, at temperature 0 alone, however doubtful it is. */
async function hear(wav: Uint8Array, withTimestamps: boolean) {
  const pcm = await openSound(wav);
  try {
    return await withDecoder(model, async (decoder, whisper) => {
      const windows = transcribeSound({
        model: whisper,
        decoder,
        logMel: createLogMel(whisper.settings.melBins),
        pcm,
        regions: [{ start: 0, end: pcm.sampleCount }],
        language: "en",
        prompt: "",
        temperatures: [0],
        withTimestamps,
        withWords: false,
        random: () => 0,
        signal: new AbortController().signal,
      });
      const segments = (await collect(windows)).flatMap((window) => window.segments);
      const ids = segments.map(({ tokens }) => tokens);
      return { ids, text: whisperText(whisper, ids.flat()).trim() };
    });
  } finally {
    await pcm.close();
  }
}

/** The saw teeth of the recipe, 16 kHz, as a WAV file. */
function sawWav(seconds: number): Uint8Array {
  const wav = Buffer.alloc(44 + seconds * 32_000);
  readFileSync(join(ROW, "sound.wav")).copy(wav, 0, 0, 44);
  wav.writeUInt32LE(wav.length - 8, 4);
  wav.writeUInt32LE(wav.length - 44, 40);
  for (let at = 0; at < seconds * 16_000; at++) {
    const isPause = Math.floor(at / 40_000) % 4 === 3;
    const tooth = ((at * (2 + (Math.floor(at / 12_000) % 7))) % 331) * 30 - 4_965;
    wav.writeInt16LE(isPause ? 0 : tooth, 44 + 2 * at);
  }
  return wav;
}

describe("Whisper at temperature 0 says what transformers says, token by token", () => {
  test("of a short sound, without times and with", async () => {
    const sound = readFileSync(join(ROW, "sound.wav"));
    const { text } = await hear(sound, false);
    expect(text).toBe(golden.cases[0].expected.text);
    const { ids } = await hear(sound, true);
    expect(ids).toEqual(golden.segments.map(({ tokens }) => tokens));
  });

  test("of a sound of several windows, each knowing those before it", async () => {
    const { ids } = await hear(sawWav(75), true);
    const windows = golden.long.map(({ tokens }) => tokens);
    expect(ids.slice(0, windows.length)).toEqual(windows);
  });
});
