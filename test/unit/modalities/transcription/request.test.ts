import { describe, expect, test } from "vitest";
import type { AdmitContext } from "#framemill/core/modality.js";
import { transcription } from "#framemill/modalities/transcription/index.js";

const example = transcription.example();
const file = example["file"] as { readonly bytes: Uint8Array };
const saved: string[] = [];

const context: AdmitContext = {
  model: { id: "ears", modality: "transcription", createdAtSeconds: 0, concurrency: 1 },
  path: "/v1/audio/transcriptions",
  saveInput: async (bytes, mediaType) => {
    saved.push(mediaType);
    return { id: "input", variant: "input", mediaType, byteLength: bytes.byteLength, sha256: "" };
  },
  findEarlier: async () => undefined,
};
const admit = (fields: object) =>
  transcription.admit({ model: "ears", ...example, ...fields }, context);

describe("a transcription request", () => {
  test("is read as a form sends it: words for numbers, lists and truth", async () => {
    const request = await admit({
      language: "English",
      prompt: "Names: Ada.",
      response_format: "verbose_json",
      temperature: "0.4",
      timestamp_granularities: ["word", "segment"],
      chunking_strategy: { type: "server_vad", threshold: "0.6", silence_duration_ms: "200" },
    });
    expect(request).toMatchObject({
      language: "en",
      prompt: "Names: Ada.",
      format: "verbose_json",
      temperature: 0.4,
      granularities: ["word", "segment"],
      stream: false,
      voiceDetection: { threshold: 0.6, silenceMs: 200 },
      audio: { mediaType: "audio/wav", byteLength: file.bytes.byteLength },
    });
    expect(JSON.parse(JSON.stringify(request))).toEqual(request);
  });

  test("reserves the longest sound and counts begun seconds", async () => {
    const request = await admit({});
    expect(transcription.mostUnits(request, context.model)).toEqual({ audioSeconds: 7_200 });
    const transcript = { language: "en", text: "", segments: [], words: [], logprobs: [] };
    const output = { durationSeconds: 13.335, transcript };
    expect(transcription.countUnits(request, output)).toEqual({ audioSeconds: 14 });
  });

  test.each([
    ["no file", { file: undefined }, "missing_required_parameter", "file"],
    ["a word for a file", { file: "words" }, "invalid_value", "file"],
    ["an empty file", { file: { bytes: new Uint8Array(0) } }, "invalid_value", "file"],
    [
      "a play list",
      { file: { bytes: Buffer.from("#EXTM3U\nfile:///etc/passwd") } },
      "invalid_value",
      "file",
    ],
    [
      "a file over 25 MiB",
      { file: { bytes: new Uint8Array(26_214_401) } },
      "payload_too_large",
      "file",
    ],
    ["an unknown language", { language: "klingon" }, "invalid_value", "language"],
    ["a temperature in words", { temperature: "warm" }, "invalid_value", "temperature"],
    ["a temperature too high", { temperature: 1.5 }, "invalid_value", "temperature"],
    ["an unknown format", { response_format: "docx" }, "invalid_value", "response_format"],
    [
      "word times without verbose_json",
      { timestamp_granularities: ["word"] },
      "invalid_value",
      "timestamp_granularities",
    ],
    [
      "logprobs in captions",
      { include: ["logprobs"], response_format: "srt" },
      "invalid_value",
      "include",
    ],
    ["a stream of captions", { stream: "true", response_format: "vtt" }, "invalid_value", "stream"],
    ["an unknown field", { diarise: true }, "unknown_parameter", "diarise"],
  ])("refuses %s by naming the field, and stores nothing", async (_name, fields, code, param) => {
    saved.length = 0;
    await expect(admit(fields)).rejects.toMatchObject({ code, param });
    expect(saved).toEqual([]);
  });
});
