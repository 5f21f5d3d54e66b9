import { describe, expect, test } from "vitest";
import type { Answer } from "#framemill/core/answer.js";
import { JobError } from "#framemill/core/errors.js";
import type { Chunk } from "#framemill/core/events.js";
import {
  answerTranscription,
  type TranscriptionExchange,
} from "#framemill/modalities/transcription/answer.js";
import type {
  Transcript,
  TranscriptDelta,
  TranscriptionRequest,
} from "#framemill/modalities/transcription/request.js";

const segment = {
  seek: 0,
  startSeconds: 0,
  endSeconds: 1.5,
  text: " Hello there.",
  tokens: [50_364, 2_425, 50_439],
  temperature: 0,
  averageLogprob: -0.25,
  compressionRatio: 0.75,
  noSpeechProbability: 0.125,
};
const transcript: Transcript = {
  language: "en",
  text: "Hello there.",
  segments: [segment],
  words: [{ word: "Hello", startSeconds: 0, endSeconds: 0.5 }],
  logprobs: [],
};

function exchange(
  request: Partial<TranscriptionRequest>,
  { chunks = [] }: { chunks?: (Chunk<TranscriptDelta> | JobError)[] } = {},
): TranscriptionExchange {
  return {
    id: "trans_1",
    model: "ears",
    serviceTier: "default",
    path: "/v1/audio/transcriptions",
    createdAtMs: 0,
    request: {
      model: "ears",
      audio: { id: "a", variant: "input", mediaType: "audio/wav", byteLength: 1, sha256: "" },
      language: null,
      prompt: "",
      format: "json",
      temperature: 0,
      granularities: ["segment"],
      logprobs: false,
      stream: false,
      voiceDetection: null,
      ...request,
    },
    chunks: (async function* () {
      for (const chunk of chunks) {
        if (chunk instanceof JobError) throw chunk;
        yield chunk;
      }
    })(),
    finished: async () => ({
      output: { durationSeconds: 1.5, transcript },
      usage: { audioSeconds: 2, gpuMs: 1 },
      completedAtMs: 0,
    }),
    readFile: () => Promise.reject(new Error("has no file")),
    fileUrl: () => "",
  };
}

async function textOf(answer: Answer): Promise<string> {
  if ("json" in answer || answer.body instanceof Uint8Array) throw new Error("not text");
  if (typeof answer.body === "string") return answer.body;
  const parts: string[] = [];
  for await (const part of answer.body) parts.push(part.toString());
  return parts.join("");
}

const delta = (text: string): Chunk<TranscriptDelta> => ({
  type: "json",
  value: { delta: text, logprobs: [] },
});

describe("the answer to a transcription", () => {
  test("is text and the seconds that are billed", async () => {
    expect(await answerTranscription(exchange({}))).toEqual({
      json: { text: "Hello there.", usage: { type: "duration", seconds: 2 } },
    });
  });

  test("in verbose form has what was asked for", async () => {
    const verbose = { format: "verbose_json", granularities: ["segment", "word"] } as const;
    expect(await answerTranscription(exchange(verbose))).toEqual({
      json: {
        task: "transcribe",
        language: "english",
        duration: 1.5,
        text: "Hello there.",
        segments: [
          {
            id: 0,
            seek: 0,
            start: 0,
            end: 1.5,
            text: " Hello there.",
            tokens: [50_364, 2_425, 50_439],
            temperature: 0,
            avg_logprob: -0.25,
            compression_ratio: 0.75,
            no_speech_prob: 0.125,
          },
        ],
        words: [{ word: "Hello", start: 0, end: 0.5 }],
        usage: { type: "duration", seconds: 2 },
      },
    });
  });

  test("streams deltas, then the whole with its usage", async () => {
    const chunks = [delta("Hello"), delta(" there.")];
    const answer = await answerTranscription(exchange({ stream: true }, { chunks }));
    const events = (await textOf(answer)).split("\n\n").filter(Boolean);
    expect(events.map((event) => JSON.parse(event.slice("data: ".length)) as unknown)).toEqual([
      { type: "transcript.text.delta", delta: "Hello" },
      { type: "transcript.text.delta", delta: " there." },
      {
        type: "transcript.text.done",
        text: "Hello there.",
        usage: { type: "duration", seconds: 2 },
      },
    ]);
  });

  test("rejects with the job's own error where it failed before the first text", async () => {
    const chunks = [new JobError("invalid_value", "no sound", { param: "file" })];
    const answer = answerTranscription(exchange({ stream: true }, { chunks }));
    await expect(answer).rejects.toMatchObject({ code: "invalid_value", param: "file" });
  });
});
