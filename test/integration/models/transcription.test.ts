import { readFileSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import type { PipelineEvent } from "#framemill/core/events.js";
import type { Pipeline } from "#framemill/core/modality.js";
import type { ModelPackage } from "#framemill/inference/model-package.js";
import { openSessions } from "#framemill/inference/session.js";
import { createTranscriptionPipeline } from "#framemill/modalities/transcription/pipeline.js";
import type { TranscriptionRequest } from "#framemill/modalities/transcription/request.js";
import { voiceRegions } from "#framemill/modalities/transcription/sound-regions.js";
import type { TranscriptionOutput } from "#framemill/modalities/transcription/transcript.js";
import { addedModel } from "../../support/added-model.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";
import {
  openSound,
  ownFolder,
  SPEECH_PATH,
  TINY_WHISPER,
  whisperVariant,
} from "../../support/tiny-whisper.js";

const { signal } = new AbortController();

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

describeWithModels("voice activity", () => {
  test.each(["silero_vad.onnx", "silero_vad_16k_op15.onnx"])(
    "%s finds speech between silences",
    async (name) => {
      const wav = readFileSync(SPEECH_PATH);
      const seconds = (count: number) => Buffer.alloc(count * 32_000);
      const padded = Buffer.concat([wav.subarray(0, 44), seconds(5), wav.subarray(44), seconds(7)]);
      padded.writeUInt32LE(padded.length - 44, 40);
      const pcm = await openSound(padded, name);
      const graphs = { vad: publishedModel("silero-vad", name) };
      const thread = await openSessions({ graphs, threads: 1, providers: ["cpu"] });
      const found = await collect(voiceRegions(pcm, { thread, detection: {}, signal }));
      await thread.close();
      await pcm.close();
      // The reader starts 0.6 s after the file and ends 0.4 s before it, heard by ear and by energy.
      const [start = 0, end = 0] = [found[0]?.start, found.at(-1)?.end].map(
        (it) => (it ?? 0) / 16_000,
      );
      expect(start).toBeGreaterThan(5);
      expect(start).toBeLessThan(6);
      expect(end).toBeGreaterThan(17.5);
      expect(end).toBeLessThan(19);
    },
  );
});

describeWithModels("the transcription pipeline", () => {
  const pipelines: Pipeline<TranscriptionRequest, TranscriptionOutput>[] = [];
  afterAll(() => Promise.all(pipelines.map((pipeline) => pipeline.close())));
  const setup = { threads: 1, ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "none" };

  async function open(model: ModelPackage) {
    const pipeline = await createTranscriptionPipeline({ ...setup, modelPath: model.path });
    pipelines.push(pipeline);
    return pipeline;
  }

  /** Temperature 1 is one attempt: random weights never satisfy the thresholds. */
  function run(
    pipeline: Pipeline<TranscriptionRequest, TranscriptionOutput>,
    request: Partial<TranscriptionRequest>,
    { bytes = readFileSync(SPEECH_PATH), stop = signal } = {},
  ): AsyncIterable<PipelineEvent<TranscriptionOutput>> {
    const audio = { id: "a", variant: "input", mediaType: "audio/wav", byteLength: 1, sha256: "" };
    const whole: TranscriptionRequest = {
      model: "tiny",
      audio,
      language: "en",
      prompt: "",
      format: "json",
      temperature: 1,
      granularities: ["segment"],
      logprobs: false,
      stream: false,
      voiceDetection: null,
      ...request,
    };
    const scratchPath = ownFolder();
    return pipeline.run(whole, { signal: stop, scratchPath, readInput: async () => bytes });
  }

  async function outputOf(events: AsyncIterable<PipelineEvent<TranscriptionOutput>>) {
    const all = await collect(events);
    const fractions = all.flatMap((it) => (it.type === "progress" ? [it.fraction] : []));
    expect(fractions).toEqual(fractions.toSorted((a, b) => a - b));
    const last = all.at(-1);
    if (last?.type !== "output") throw new Error("no output");
    const deltas = all.flatMap((it) =>
      it.type === "chunk" && it.chunk.type === "json" ? [it.chunk.value] : [],
    );
    return { ...last.output, deltas: deltas as { readonly delta: string }[] };
  }

  test("ends with ordered segments though the weights are random, and streams what it says", async () => {
    const pipeline = await open(await addedModel(TINY_WHISPER));
    const request = { format: "verbose_json", prompt: "Mr Quilter.", stream: true } as const;
    const { durationSeconds, transcript, deltas } = await outputOf(run(pipeline, request));
    expect(durationSeconds).toBeCloseTo(13.335, 3);
    expect(transcript?.segments.length).toBeGreaterThan(0);
    let end = 0;
    for (const segment of transcript?.segments ?? []) {
      expect(segment.startSeconds).toBeGreaterThanOrEqual(end);
      expect(segment.endSeconds).toBeGreaterThan(segment.startSeconds);
      expect(segment.text.trim()).not.toBe("");
      end = segment.endSeconds;
    }
    expect(end).toBeLessThanOrEqual(durationSeconds);
    expect(
      deltas
        .map(({ delta }) => delta)
        .join("")
        .trim(),
    ).toBe(transcript?.text);
  });

  test("hears every language that the model knows, and only those", async () => {
    const pipeline = await open(await addedModel(TINY_WHISPER));
    const { transcript } = await outputOf(run(pipeline, { language: null }));
    expect(transcript?.language).toMatch(/^[a-z]{2,3}$/);
    const unknown = outputOf(run(pipeline, { language: "yue" }));
    await expect(unknown).rejects.toMatchObject({ code: "invalid_value", param: "language" });
  });

  test("skips silence where the package has a voice detector", async () => {
    const pipeline = await open(await addedModel(TINY_WHISPER, { extra: ["silero-vad"] }));
    const silence = Buffer.concat([
      readFileSync(SPEECH_PATH).subarray(0, 44),
      Buffer.alloc(64_000),
    ]);
    silence.writeUInt32LE(64_000, 40);
    const { durationSeconds, transcript } = await outputOf(
      run(pipeline, { voiceDetection: {} }, { bytes: silence }),
    );
    expect(durationSeconds).toBe(2);
    expect(transcript).toMatchObject({ text: "", segments: [] });
  });

  test("times words where the decoder shows what it looks at, else refuses", async () => {
    const words = { format: "verbose_json", granularities: ["word"] } as const;
    const refused = outputOf(run(await open(await addedModel(TINY_WHISPER)), words));
    await expect(refused).rejects.toMatchObject({ param: "timestamp_granularities" });
    const pipeline = await open(await whisperVariant("attentions"));
    const { transcript } = await outputOf(run(pipeline, words));
    expect(transcript?.words.length).toBeGreaterThan(0);
    const times = transcript?.words.flatMap((it) => [it.startSeconds, it.endSeconds]) ?? [];
    expect(times.every((it) => it >= 0 && it <= 13.34)).toBe(true);
    const starts = transcript?.words.map((it) => it.startSeconds) ?? [];
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  });

  test("stops when it is cancelled", async () => {
    const pipeline = await open(await addedModel(TINY_WHISPER));
    const stopping = new AbortController();
    const events = run(pipeline, {}, { stop: stopping.signal });
    const listen = async () => {
      for await (const event of events) if (event.type === "progress") stopping.abort();
    };
    await expect(listen()).rejects.toMatchObject({ code: "cancelled" });
  });
});
