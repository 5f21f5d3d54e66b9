import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PipelineEvent } from "#framemill/core/events.js";
import type { Pipeline } from "#framemill/core/modality.js";
import { createTranscriptionPipeline } from "#framemill/modalities/transcription/pipeline.js";
import type {
  TranscriptionOutput,
  TranscriptionRequest,
} from "#framemill/modalities/transcription/request.js";

const modelPath = fileURLToPath(new URL("../../../models/service-transcribe-1", import.meta.url));
const { signal } = new AbortController();

type Event = PipelineEvent<TranscriptionOutput>;

const read = (name: string) => readFileSync(join(modelPath, "evaluation", name));

describe.skipIf(!existsSync(join(modelPath, "model.json")))("service-transcribe-1", () => {
  const scratchPath = mkdtempSync(join(tmpdir(), "framemill-transcribe-"));
  let pipeline: Pipeline<TranscriptionRequest, TranscriptionOutput>;
  beforeAll(async () => {
    const tools = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "none" };
    pipeline = await createTranscriptionPipeline({ modelPath, threads: 1, ...tools });
  });
  afterAll(async () => {
    await pipeline.close();
    rmSync(scratchPath, { recursive: true, force: true });
  });

  async function transcribe(bytes: Uint8Array, changes: Partial<TranscriptionRequest> = {}) {
    const request: TranscriptionRequest = {
      model: "service-transcribe-1",
      audio: { id: "a", variant: "input", mediaType: "audio/ogg", byteLength: 1, sha256: "" },
      language: null,
      prompt: "",
      format: "verbose_json",
      temperature: 0,
      granularities: ["word", "segment"],
      logprobs: false,
      stream: false,
      voiceDetection: null,
      ...changes,
    };
    const context = { signal, scratchPath, readInput: async () => bytes };
    const events: Event[] = [];
    for await (const event of pipeline.run(request, context)) events.push(event);
    const output = events.find((event) => event.type === "output")?.output;
    if (output === undefined) throw new Error("no output");
    return { ...output.transcript, events };
  }

  test("hears words in order, in segments with times and sureness", async () => {
    const { language, text, words, segments } = await transcribe(read("natural-00.ogg"));
    expect(language).toBe("en");
    expect(words.map(({ word }) => word).join(" ")).toBe(text);
    const times = words.flatMap(({ startSeconds, endSeconds }) => [startSeconds, endSeconds]);
    expect(times).toEqual(times.toSorted((one, other) => one - other));
    expect(
      segments
        .map((segment) => segment.text)
        .join("")
        .trim(),
    ).toBe(text);
    for (const segment of segments) {
      expect(segment.averageLogprob).toBeLessThan(0);
      expect(segment.noSpeechProbability).toBeLessThan(0.6);
    }
  });

  test("goes through a long sound window by window and streams what is settled", async () => {
    const changes = { format: "json", stream: true, granularities: ["segment"] } as const;
    const { text, events } = await transcribe(read("long-00.ogg"), changes);
    const progress = events.flatMap((event) => (event.type === "progress" ? [event.fraction] : []));
    expect(progress.length).toBeGreaterThan(2);
    expect(progress).toEqual(progress.toSorted((one, other) => one - other));
    const deltas = events.flatMap((event) =>
      // The pipeline yields no other chunks.
      event.type === "chunk" && event.chunk.type === "json" ? [event.chunk.value] : [],
    ) as { readonly delta: string }[];
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.map(({ delta }) => delta).join("")).toBe(text);
  });

  test("hears nothing where nobody speaks", async () => {
    const { text, language } = await transcribe(read("silent-nothing.ogg"));
    expect({ text, language }).toEqual({ text: "", language: "en" });
  });

  test("gives the same text for the same sound", async () => {
    const [one, other] = [
      await transcribe(read("real-goforward.ogg")),
      await transcribe(read("real-goforward.ogg")),
    ];
    expect(one.text).toBe(other.text);
  });

  test("refuses languages that it does not know", async () => {
    await expect(transcribe(read("natural-00.ogg"), { language: "de" })).rejects.toMatchObject({
      code: "invalid_value",
      message: 'language must be one of en for service-transcribe-1, got "de"',
    });
  });
});
