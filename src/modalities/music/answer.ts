import { z } from "zod";
import type { JobView } from "../../core/modality.js";
import { jobObject, renderJob, renderSeconds, secondsField } from "../shared/job-object.js";
import { MUSIC_FORMATS, type MusicRequest } from "./request.js";

/** The public music object, in every answer about a music job. */
export const musicObject = jobObject("music", {
  stage: z.string().nullable().describe("steps, decoding, encoding, checking while in progress"),
  prompt: z.string(),
  lyrics: z.string().nullable(),
  instrumental: z.boolean(),
  seconds: secondsField(z.int().min(1)),
  response_format: z.enum(MUSIC_FORMATS),
  seed: z.int(),
  metadata: z.record(z.string(), z.string()).nullable(),
});

export function renderMusic(job: JobView<MusicRequest>): z.infer<typeof musicObject> {
  const { prompt, lyrics, instrumental, format, seed, metadata } = job.request;
  const seconds = renderSeconds(job.request);
  const own = { prompt, lyrics, instrumental, seconds, response_format: format, seed, metadata };
  return renderJob(job, { object: "music", own, unit: "audioSeconds" });
}
