import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { Chunk } from "#framemill/core/events.js";
import type { Exchange } from "#framemill/core/modality.js";
import { answerSpeech } from "#framemill/modalities/speech/answer.js";
import { vitsEncoder } from "#framemill/models/vits/open.js";
import { checkSound, finishPiece } from "#framemill/modalities/speech/pieces.js";
import {
  kittenStyle,
  utterancesOf as utterancesOfKitten,
} from "#framemill/models/kitten-tts/open.js";
import { languagesBy, languagesOf } from "#framemill/models/supertonic/settings.js";
import { idsOf, supertonicText } from "#framemill/models/supertonic/text.js";
import { styleRow } from "#framemill/models/kokoro/open.js";
import { parsePiperConfig, utterancesOf } from "#framemill/models/piper/open.js";
import type { SpeechOutput, SpeechRequest } from "#framemill/modalities/speech/request.js";
import { shareSpeed } from "#framemill/models/speech/speech-model.js";

const fixture = new URL("../../../fixtures/speech/", import.meta.url);
const piperJson = await readFile(new URL("piper/piper.onnx.json", fixture), "utf8");

describe("joining pieces", () => {
  const sampleRateHz = 24_000;
  const loud = new Float32Array(24_000).fill(1.4, 12_000, 18_000);

  it("evens the silent ends, fades, pauses before and never reaches full scale", () => {
    const piece = finishPiece(loud, { sampleRateHz, pauseMs: 100, speed: 1 });
    // 100 ms of pause, 40 ms of lead, 250 ms of sound, 100 ms of tail.
    expect(piece).toHaveLength(2_400 + 960 + 6_000 + 2_400);
    expect(piece.subarray(0, 2_400).every((sample) => sample === 0)).toBe(true);
    expect(Math.max(...piece)).toBeCloseTo(0.99, 5);
    const steady = finishPiece(new Float32Array(2_400).fill(0.5), {
      sampleRateHz,
      pauseMs: 0,
      speed: 1,
    });
    const steps = steady.slice(1).map((sample, index) => Math.abs(sample - (steady[index] ?? 0)));
    // A fade of 5 ms: no step of more than pi / 2 / 120 of the level.
    expect(Math.max(...steps)).toBeLessThanOrEqual(0.5 * 0.0131);
    expect([steady[0], steady.at(-1), steady[1_200]]).toEqual([0, 0, 0.5]);
  });

  it("keeps silence as it is and ships nothing that is not a number", () => {
    expect(finishPiece(new Float32Array(10), { sampleRateHz, pauseMs: 0, speed: 1 })).toHaveLength(
      10,
    );
    const invalid = expect.objectContaining({ code: "invalid_output" });
    expect(() => checkSound(new Float32Array())).toThrow(invalid);
    expect(() => checkSound(Float32Array.of(0, Number.NaN))).toThrow(invalid);
    expect(() => checkSound(Float32Array.of(Number.POSITIVE_INFINITY))).toThrow(invalid);
  });
});

describe("a speed", () => {
  const range = { slowest: 0.5, fastest: 2, isWhole: false };
  it("is the model's as far as it goes, the rest is tempo", () => {
    expect(shareSpeed(1.5, range)).toEqual({ speed: 1.5, tempo: 1 });
    expect(shareSpeed(4, range)).toEqual({ speed: 2, tempo: 2 });
    expect(shareSpeed(0.25, range)).toEqual({ speed: 0.5, tempo: 0.5 });
  });

  it("is never rounded for a graph of whole speeds", () => {
    const whole = { slowest: 1, fastest: 2, isWhole: true };
    expect(shareSpeed(2, whole)).toEqual({ speed: 2, tempo: 1 });
    expect(shareSpeed(1.5, whole)).toEqual({ speed: 1, tempo: 1.5 });
    expect(shareSpeed(0.5, whole)).toEqual({ speed: 1, tempo: 0.5 });
    expect(shareSpeed(3, whole)).toEqual({ speed: 2, tempo: 1.5 });
  });
});

describe("the style of a Kokoro voice", () => {
  const table = Float32Array.from({ length: 512 * 256 }, (_, index) => Math.floor(index / 256));
  it("is the row of as many phonemes, counted from one, in tables of 510 and 512 rows", () => {
    expect(styleRow(table, 8)[0]).toBe(5);
    expect(styleRow(table, 3)[255]).toBe(0);
    expect(styleRow(table, 512)[0]).toBe(509);
    expect(styleRow(table.subarray(0, 510 * 256), 512)[0]).toBe(509);
  });
});

describe("what KittenTTS reads", () => {
  it("are symbols between pads, the last with a mark of the end, and each piece's share of the text", () => {
    const [said, ...others] = utterancesOfKitten("həlˈoʊ .", "Hello.");
    expect(others).toEqual([]);
    expect(said).toEqual({
      ids: [0, 50, 83, 54, 156, 57, 135, 16, 4, 10, 0],
      tokenCount: 8,
      characters: 6,
    });
    expect(utterancesOfKitten("? !", "?!")).toEqual([]);
    const pieces = utterancesOfKitten("həlˈoʊ . ".repeat(100), "Hello. ".repeat(100));
    expect(pieces.length).toBeGreaterThan(1);
    expect(Math.max(...pieces.map(({ ids }) => ids.length))).toBeLessThanOrEqual(512);
    const characters = pieces.reduce((sum, piece) => sum + (piece.characters ?? 0), 0);
    expect(Math.abs(characters - 700)).toBeLessThan(4);
  });

  it("is the style of as many characters, or the only one", () => {
    const table = Float32Array.from({ length: 400 * 256 }, (_, index) => Math.floor(index / 256));
    expect(kittenStyle(table, 27)[0]).toBe(27);
    expect(kittenStyle(table, 4_096)[255]).toBe(399);
    expect(kittenStyle(table.subarray(0, 256), 27)[0]).toBe(0);
  });
});

describe("what Supertonic reads", () => {
  it.each([
    ["Hello — “you” … there", null, 'Hello - "you"... there.'],
    ["Mail me @ home , e.g., now 😀!", null, "Mail me at home, for example, now!"],
    ["  one_two  [three]/four ''five''", null, "one two three four'five'"],
    ["Ça va ?", "fr", "<fr>C\u0327a va?</fr>"],
  ])("of %j in %j is %j", (text, language, read) => {
    expect(supertonicText(text, language)).toBe(read);
  });

  it("is without characters that it does not know", () => {
    expect(idsOf("a😀b\u00e9", [...Array<number>(97).fill(-1), 5, 6])).toEqual([5, 6]);
  });

  it("is told the language by all but the first", () => {
    const sizes = { latent_dim: 24, chunk_compress_factor: 6 };
    const config = { ae: { sample_rate: 44_100, base_chunk_size: 512 }, ttl: sizes };
    const first = languagesOf({ ...config, tts_version: "v1.5.0", split: "opensource-en" });
    expect(first).toEqual({ codes: ["en"], unnamed: null });
    const second = languagesOf({ ...config, tts_version: "v1.6.0" });
    expect(second).toEqual({ codes: ["en", "ko", "es", "pt", "fr"], unnamed: "en" });
    const third = languagesOf({ ...config, tts_version: "v1.7.3" });
    expect([third.codes.length, third.unnamed]).toEqual([31, "na"]);
    // Where nothing states the model, by the characters that it knows.
    const known = ["abc", "abc\u1100", "abc\u1100д"].map((all) =>
      languagesBy((one) => all.includes(one)),
    );
    expect(known).toEqual([first, second, third]);
  });
});

describe("the ids of a Piper voice", () => {
  const config = parsePiperConfig(piperJson, "piper.onnx.json");
  it("are begin, each sound with a pad behind it, end; sounds may have several ids or none", () => {
    // NFD: the nasal vowel is a letter and its tilde; $ is no sound though the map holds it.
    expect(utterancesOf("oõ$ð?.", config)).toEqual([
      { ids: [1, 0, 27, 127, 0, 27, 127, 0, 141, 0, 41, 0, 10, 0, 2], tokenCount: 5 },
    ]);
    expect(utterancesOf("?!.", config)).toEqual([]);
  });

  it("come from a config that is checked", () => {
    const change = (changes: object) => JSON.stringify({ ...JSON.parse(piperJson), ...changes });
    expect(() => parsePiperConfig(change({ phoneme_type: "pinyin" }), "v")).toThrow(
      /espeak or text, got pinyin/,
    );
    expect(() => parsePiperConfig(change({ phoneme_id_map: { _: [0] } }), "v")).toThrow(/lacks \^/);
    expect(() => parsePiperConfig(change({ audio: {} }), "v")).toThrow(/audio\.sample_rate/);
  });
});

describe("the ids of a transformers VITS voice", () => {
  const vocab = { k: 0, h: 6, e: 7, l: 10, o: 11, " ": 19 };
  const config = { add_blank: true, normalize: true, phonemize: false, is_uroman: false };
  // As transformers' VitsTokenizer gives for facebook/mms-tts-eng: blanks between, before and behind.
  const ids = [0, 6, 0, 7, 0, 10, 0, 10, 0, 11, 0];

  it("come from vocab.json with blanks, or without", () => {
    expect(vitsEncoder(vocab, config)("Hello!")).toEqual(ids);
    expect(vitsEncoder(vocab, { ...config, add_blank: false })("Hello!")).toEqual([
      6, 7, 10, 10, 11,
    ]);
    expect(vitsEncoder(vocab, config)("?!")).toEqual([]);
  });

  it("come from the tokenizer.json of Xenova's conversions alike", () => {
    const normalizers = [
      { type: "Lowercase" },
      { type: "Replace", pattern: { Regex: "[^khelo ]" }, content: "" },
      { type: "Strip", strip_left: true, strip_right: true },
      { type: "Replace", pattern: { Regex: "(?=.)|(?<!^)$" }, content: "k" },
    ];
    const json = {
      version: "1.0",
      added_tokens: [],
      normalizer: { type: "Sequence", normalizers },
      pre_tokenizer: { type: "Split", pattern: { Regex: "" }, behavior: "Isolated", invert: false },
      post_processor: null,
      decoder: null,
      model: { vocab },
    };
    expect(vitsEncoder(json, config)("Hello!")).toEqual(ids);
  });
});

describe("the answer", () => {
  const bytes = Buffer.from("sound of two chunks");
  async function* chunks(): AsyncGenerator<Chunk> {
    yield { type: "bytes", bytes: bytes.subarray(0, 7) };
    yield { type: "bytes", bytes: bytes.subarray(7) };
  }
  const exchange = (isEventStream: boolean) => {
    const request: Partial<SpeechRequest> = { format: "opus", isEventStream };
    const finished = async () => ({
      output: { audioSeconds: 1.26, inputTokens: 14 },
      usage: { gpuMs: 1 },
      completedAtMs: 1,
    });
    return { request, chunks: chunks(), finished } as unknown as Exchange<
      SpeechRequest,
      SpeechOutput
    >;
  };

  it("is the sound as it comes", async () => {
    const answer = await answerSpeech(exchange(false));
    if (!("body" in answer) || typeof answer.body === "string") throw new Error("not bytes");
    expect(answer.mediaType).toBe("audio/ogg; codecs=opus");
    const parts: Buffer[] = [];
    for await (const part of answer.body) parts.push(Buffer.from(part as Uint8Array));
    expect(parts.map((part) => part.length)).toEqual([7, 12]);
    expect(Buffer.concat(parts)).toEqual(bytes);
  });

  it("is events of the sound and at last its usage, where events were asked for", async () => {
    const answer = await answerSpeech(exchange(true));
    if (!("body" in answer)) throw new Error("not a stream");
    expect(answer.mediaType).toContain("text/event-stream");
    const events: { type: string; audio?: string }[] = [];
    for await (const part of answer.body)
      events.push(JSON.parse(String(part).replace(/^data: /, "")));
    const sound = events.flatMap(({ audio }) => (audio ? [Buffer.from(audio, "base64")] : []));
    expect(Buffer.concat(sound)).toEqual(bytes);
    expect(events.at(-1)).toEqual({
      type: "speech.audio.done",
      usage: { input_tokens: 14, output_tokens: 25, total_tokens: 39 },
      model_notes: [],
    });
  });
});
