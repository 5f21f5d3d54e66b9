import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openGraphs } from "#framemill/runtime/ort/graphs.js";
import { voiceRegions } from "#framemill/models/speech-recognition/voice-detection.js";
import { addedModel } from "../../support/added-model.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";
import { collect, openSound, openTranscriber, outputOf } from "../../support/transcriber.js";

/** 13.335 s of a reader, 16 kHz mono: 44 bytes of header, then samples of 16 bit. */
const readSpeech = () => readFileSync(publishedModel("asr-fixtures", "1272-141231-0002.wav"));

describeWithModels("a published voice detector", () => {
  test.each(["silero_vad.onnx", "silero_vad_16k_op15.onnx"])(
    "%s finds speech between silences",
    async (name) => {
      const wav = readSpeech();
      const seconds = (count: number) => Buffer.alloc(count * 32_000);
      const padded = Buffer.concat([wav.subarray(0, 44), seconds(5), wav.subarray(44), seconds(7)]);
      padded.writeUInt32LE(padded.length - 44, 40);
      const pcm = await openSound(padded);
      const graphs = { vad: publishedModel("silero-vad", name) };
      const thread = await openGraphs({ graphs, threads: 1, providers: ["cpu"] });
      const { signal } = new AbortController();
      const found = await collect(
        voiceRegions(pcm, { thread, detection: {}, longestSamples: 480_000, signal }),
      );
      await thread.close();
      await pcm.close();
      // The reader starts 0.6 s after the file and ends 0.4 s before it, heard by ear and by energy.
      const [start, end] = [found[0]?.start ?? 0, found.at(-1)?.end ?? 0].map((it) => it / 16_000);
      expect(start).toBeGreaterThan(5);
      expect(start).toBeLessThan(6);
      expect(end).toBeGreaterThan(17.5);
      expect(end).toBeLessThan(19);
    },
  );
});

describeWithModels("a published Whisper of random weights", () => {
  test("ends with ordered segments, whatever it invents in the real vocabulary", async () => {
    const { path } = await addedModel("tiny-official/asr-whisper", { extra: ["silero-vad"] });
    const transcriber = await openTranscriber(path);
    // Temperature 1 is one attempt: random weights never satisfy the thresholds.
    const request = { format: "verbose_json", temperature: 1, stream: true } as const;
    const events = transcriber.run(readSpeech(), { ...request, prompt: "Mr Quilter." });
    const { durationSeconds, transcript, deltas } = await outputOf(events);
    await transcriber.close();
    expect(durationSeconds).toBeCloseTo(13.335, 3);
    expect(transcript.segments.length).toBeGreaterThan(0);
    let end = 0;
    for (const segment of transcript.segments) {
      expect(segment.startSeconds).toBeGreaterThanOrEqual(end);
      expect(segment.endSeconds).toBeGreaterThan(segment.startSeconds);
      expect(segment.text.trim()).not.toBe("");
      end = segment.endSeconds;
    }
    expect(end).toBeLessThanOrEqual(durationSeconds);
    const said = deltas.map(({ delta }) => delta).join("");
    expect(said.trim()).toBe(transcript.text);
  });
});
