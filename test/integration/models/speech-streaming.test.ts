import { tmpdir } from "node:os";
import { afterAll, describe, expect, it } from "vitest";
import { AUDIO_FORMATS } from "#framemill/core/audio-format.js";
import type { SpeechRequest } from "#framemill/modalities/speech/request.js";
import { speak } from "#framemill/modalities/speech/pipeline.js";
import type { SpeechModel } from "#framemill/models/speech/speech-model.js";
import {
  collect,
  contextOf,
  expectNoChildren,
  request,
  setupOf,
} from "../../support/speech-harness.js";

afterAll(expectNoChildren);

describe("speaking while the rest is still being made", () => {
  /** Speaks a sentence as half a second of 440 Hz; the second one waits until it is let. */
  function fakeModel(synthesize: SpeechModel["synthesize"]): SpeechModel {
    return {
      sampleRateHz: 24_000,
      voices: ["default"],
      speeds: { slowest: 0.5, fastest: 2, isWhole: false },
      prepare: async ({ text }) => [{ ids: Array.from(text, (_, index) => index), tokenCount: 1 }],
      synthesize,
      close: async () => {},
    };
  }
  const tone = Float32Array.from({ length: 24_000 }, (_, index) => 0.5 * Math.sin(index * 0.1152));
  const input = "This is the first sentence. This is the second one. And this is the third.";
  const task = (model: SpeechModel, format: SpeechRequest["format"], signal?: AbortSignal) => ({
    model,
    setup: setupOf(tmpdir()),
    request: { ...request, input, format },
    context: contextOf(signal),
  });

  it.each(AUDIO_FORMATS)(
    "lets the first sentence out as %s before the second is there",
    async (format) => {
      let markFirstOut = () => {};
      const firstIsOut = new Promise<void>((resolve) => (markFirstOut = resolve));
      let count = 0;
      const model = fakeModel(async () => {
        count += 1;
        if (count > 1) await firstIsOut;
        return tone;
      });
      let byteLength = 0;
      for await (const event of speak(task(model, format))) {
        if (event.type !== "chunk" || event.chunk.type !== "bytes") continue;
        byteLength += event.chunk.bytes.byteLength;
        // Half of what a second takes: 24 kB at 96 kbit/s is 12 kB a second, the tightest of them opus.
        if (byteLength > 3_500) markFirstOut();
      }
      expect(count).toBe(3);
    },
  );

  it("ends at once, with its ffmpeg, when it is cancelled or nobody listens", async () => {
    const abort = new AbortController();
    const waiting = fakeModel(async () => {
      abort.abort();
      return tone;
    });
    const cancelled = collect(speak(task(waiting, "mp3", abort.signal)));
    await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
    for await (const event of speak(
      task(
        fakeModel(async () => tone),
        "mp3",
      ),
    ))
      if (event.type === "chunk") break;
  });

  it("ships nothing of a waveform that is not one, and says why a later sentence failed", async () => {
    const broken = fakeModel(async () => Float32Array.of(0, Number.NaN));
    const events = speak(task(broken, "wav"));
    await expect(events.next()).rejects.toMatchObject({ code: "invalid_output" });
    let count = 0;
    const breaking = fakeModel(async () => (++count < 2 ? tone : new Float32Array()));
    await expect(collect(speak(task(breaking, "mp3")))).rejects.toMatchObject({
      code: "invalid_output",
      message: "the model made no sound",
    });
  });
});
