import { z } from "zod";
import { type AdmitContext, defineModality } from "../../core/modality.js";
import { answerTranscription, billedSeconds } from "./answer.js";
import { exampleSound } from "./example-sound.js";
import {
  MAX_SECONDS,
  parseTranscriptionBody,
  transcriptionBody,
  type TranscriptionRequest,
  transcriptionRequest,
} from "./request.js";
import { transcriptionObject } from "./response.js";
import {
  type TranscriptDelta,
  transcriptDelta,
  type TranscriptionOutput,
  transcriptionOutput,
} from "./transcript.js";

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
    maxBodyBytes: MAX_BODY_BYTES,
  },
  example: () => ({
    file: { filename: "tone.wav", mediaType: "audio/wav", bytes: exampleSound() },
  }),
  schemas: { request: transcriptionRequest, output: transcriptionOutput, delta: transcriptDelta },
  requestSchema: () => z.toJSONSchema(transcriptionBody, { io: "input", unrepresentable: "any" }),
  responseSchema: () => z.toJSONSchema(transcriptionObject),
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
