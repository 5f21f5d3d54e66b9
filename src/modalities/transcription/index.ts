import { z } from "zod";
import { type AdmitContext, defineModality } from "../../core/modality.js";
import {
  answerTranscription,
  billedSeconds,
  TEXT,
  transcriptionEvent,
  transcriptionObject,
  WEBVTT,
} from "./answer.js";
import {
  MAX_SECONDS,
  parseTranscriptionBody,
  transcriptDelta,
  type TranscriptDelta,
  transcriptionBody,
  transcriptionOutput,
  type TranscriptionOutput,
  transcriptionRequest,
  type TranscriptionRequest,
} from "./request.js";

/** The largest file, with room for the form around it. */
const MAX_BODY_BYTES = 26 * 1024 * 1024;

export const transcription = defineModality<
  "transcription",
  TranscriptionRequest,
  TranscriptionOutput,
  TranscriptDelta
>({
  name: "transcription",
  endpoint: {
    path: "/v1/audio/transcriptions",
    delivery: "reply",
    object: "transcription",
    idPrefix: "trans_",
    variants: [],
    mediaTypes: [TEXT, WEBVTT],
    bodyTypes: ["multipart/form-data"],
    maxBodyBytes: MAX_BODY_BYTES,
  },
  example: () => ({
    file: { filename: "tone.wav", mediaType: "audio/wav", bytes: exampleSound() },
  }),
  schemas: { request: transcriptionRequest, output: transcriptionOutput, delta: transcriptDelta },
  requestSchema: () => z.toJSONSchema(transcriptionBody, { io: "input", unrepresentable: "any" }),
  responseSchema: () => z.toJSONSchema(transcriptionObject),
  eventSchema: () => z.toJSONSchema(transcriptionEvent),
  admit,
  prices: { audioSeconds: 100 },
  mostUnits: (_request, model) => ({ audioSeconds: model.maxSeconds ?? MAX_SECONDS }),
  countUnits: (_request, output) => ({ audioSeconds: billedSeconds(output.durationSeconds) }),
  answer: answerTranscription,
  loadPipeline: async () => (await import("./pipeline.js")).createTranscriptionPipeline,
});

async function admit(body: unknown, context: AdmitContext): Promise<TranscriptionRequest> {
  const { file, settings } = parseTranscriptionBody(body);
  const { detectSoundFormat } = await import("../../media/decode-audio.js");
  const { mediaType } = detectSoundFormat(file.bytes, "file");
  const audio = await context.saveInput(file.bytes, mediaType);
  return { ...settings, audio };
}

const RATE_HZ = 16_000;
const TONE_HZ = 440;
const HEADER_BYTES = 44;

/** One second of a quiet tone as a 16-bit mono WAV file. */
function exampleSound(): Uint8Array {
  const bytes = Buffer.alloc(HEADER_BYTES + 2 * RATE_HZ);
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(bytes.byteLength - 8, 4);
  bytes.write("WAVEfmt ", 8, "latin1");
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(RATE_HZ, 24);
  bytes.writeUInt32LE(2 * RATE_HZ, 28);
  bytes.writeUInt16LE(2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write("data", 36, "latin1");
  bytes.writeUInt32LE(2 * RATE_HZ, 40);
  for (let at = 0; at < RATE_HZ; at++) {
    const level = Math.sin((2 * Math.PI * TONE_HZ * at) / RATE_HZ);
    bytes.writeInt16LE(Math.round(level * 8_000), HEADER_BYTES + 2 * at);
  }
  return bytes;
}
