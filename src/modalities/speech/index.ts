import { z } from "zod";
import { AUDIO_MEDIA_TYPES } from "../../core/audio-format.js";
import { defineModality } from "../../core/modality.js";
import { answerSpeech, speechEvent } from "./answer.js";
import {
  speechOutput,
  speechRequest,
  countCharacters,
  parseSpeechBody,
  speechBody,
  type SpeechOutput,
  type SpeechRequest,
} from "./request.js";

export const speech = defineModality<"speech", SpeechRequest, SpeechOutput>({
  name: "speech",
  endpoint: {
    path: "/v1/audio/speech",
    delivery: "reply",
    object: "audio.speech",
    idPrefix: "speech_",
    variants: [],
    promptParam: "input",
    mediaTypes: Object.values(AUDIO_MEDIA_TYPES),
  },
  example: () => ({ input: "Hello there.", voice: "alloy", response_format: "wav" }),
  schemas: { request: speechRequest, output: speechOutput },
  requestSchema: () => z.toJSONSchema(speechBody, { io: "input", unrepresentable: "any" }),
  eventSchema: () => z.toJSONSchema(speechEvent),
  admit: async (body, { model }) => parseSpeechBody(body, model),
  prices: { characters: 15 },
  mostUnits: ({ input }) => ({ characters: countCharacters(input) }),
  countUnits: ({ input }) => ({ characters: countCharacters(input) }),
  promptsOf: ({ input }) => [input],
  answer: answerSpeech,
  loadPipeline: async () => (await import("./pipeline.js")).createSpeechPipeline,
});
