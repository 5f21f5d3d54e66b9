import { randomInt } from "node:crypto";
import { z } from "zod";
import { AUDIO_MEDIA_TYPES } from "../../core/audio-format.js";
import { type AdmitContext, defineModality } from "../../core/modality.js";
import { hasSecondsAsText } from "../shared/request-body.js";
import { musicObject, renderMusic } from "./answer.js";
import {
  MUSIC_FORMATS,
  musicOutput,
  musicRequest,
  type MusicOutput,
  type MusicRequest,
  musicBody,
  parseMusicBody,
} from "./request.js";

export const music = defineModality<"music", MusicRequest, MusicOutput>({
  name: "music",
  endpoint: {
    path: "/v1/music",
    delivery: "poll",
    object: "music",
    idPrefix: "music_",
    variants: [],
    mediaTypes: MUSIC_FORMATS.map((format) => AUDIO_MEDIA_TYPES[format]),
  },
  example: () => ({ prompt: "a calm piano melody over soft strings", seconds: 1 }),
  schemas: { request: musicRequest, output: musicOutput },
  requestSchema: () => z.toJSONSchema(musicBody, { io: "input", unrepresentable: "any" }),
  responseSchema: () => z.toJSONSchema(musicObject),
  admit,
  prices: { audioSeconds: 2_000 },
  mostUnits: ({ seconds }) => ({ audioSeconds: seconds }),
  countUnits: (_request, { audioSeconds }) => ({ audioSeconds }),
  promptsOf: ({ prompt, lyrics }) => (lyrics === null ? [prompt] : [prompt, lyrics]),
  render: renderMusic,
  loadPipeline: async () => (await import("./pipeline.js")).createMusicPipeline,
});

async function admit(body: unknown, context: AdmitContext): Promise<MusicRequest> {
  const parsed = parseMusicBody(body, context.model);
  return {
    model: parsed.model,
    prompt: parsed.prompt,
    lyrics: parsed.lyrics,
    instrumental: parsed.instrumental,
    seconds: parsed.seconds,
    ...(hasSecondsAsText(body) && { secondsAsText: true as const }),
    format: parsed.response_format,
    // Drawn here and not by the worker: a second attempt must make the same piece.
    seed: parsed.seed ?? randomInt(2 ** 47),
    metadata: parsed.metadata ?? null,
  };
}
