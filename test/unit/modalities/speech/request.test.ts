import { describe, expect, it } from "vitest";
import type { AdmitContext, ModelInfo } from "#framemill/core/modality.js";
import { speech } from "#framemill/modalities/speech/index.js";
import { findVoice } from "#framemill/modalities/speech/request.js";

const model: ModelInfo = {
  id: "kokoro",
  modality: "speech",
  createdAtSeconds: 0,
  concurrency: 1,
  voices: ["af_alloy", "af_heart", "am_michael"],
};
const context: AdmitContext = {
  model,
  path: "/v1/audio/speech",
  saveInput: () => Promise.reject(new Error("speech has no inputs")),
  findEarlier: async () => undefined,
};
const body = { model: "kokoro", input: "Hello 👋🏽.", voice: "af_heart" };
const admit = (changes: object) => speech.admit({ ...body, ...changes }, context);

describe("a request for speech", () => {
  it("has OpenAI's defaults and is sold by code points", async () => {
    const request = await admit({});
    expect(request).toEqual({
      model: "kokoro",
      input: body.input,
      voice: "af_heart",
      format: "mp3",
      speed: 1,
      isEventStream: false,
      isWhole: true,
      language: null,
    });
    expect(speech.mostUnits(request, model)).toEqual({ characters: 9 });
    expect(speech.countUnits(request, { audioSeconds: 1, inputTokens: 5 })).toEqual({
      characters: 9,
    });
    expect(speech.promptsOf?.(request)).toEqual([body.input]);
  });

  it("takes everything that the interface names", async () => {
    const request = await admit({
      voice: { id: "am_michael" },
      response_format: "pcm",
      speed: 0.25,
      stream_format: "sse",
      instructions: "Speak slowly.",
      language: "en-GB",
    });
    expect(request).toMatchObject({
      voice: "am_michael",
      format: "pcm",
      speed: 0.25,
      language: "en-GB",
    });
    expect(request.isEventStream).toBe(true);
  });

  it.each([
    [{ input: undefined }, "missing_required_parameter", "input"],
    [{ voice: undefined }, "missing_required_parameter", "voice"],
    [{ input: " \n" }, "invalid_value", "input"],
    [{ input: "é".repeat(4_097) }, "invalid_value", "input"],
    [{ voice: 3 }, "invalid_value", "voice"],
    [{ voice: "bella" }, "invalid_value", "voice"],
    [{ response_format: "ogg" }, "invalid_value", "response_format"],
    [{ speed: 4.01 }, "invalid_value", "speed"],
    [{ speed: "2" }, "invalid_value", "speed"],
    [{ stream_format: "json" }, "invalid_value", "stream_format"],
    [{ language: "../en" }, "invalid_value", "language"],
    [{ pitch: 1 }, "unknown_parameter", "pitch"],
  ])("refuses %j as %s of %s", async (changes, code, param) => {
    await expect(admit(changes)).rejects.toMatchObject({ code, param });
  });

  it("takes 4096 characters of any plane", async () => {
    await expect(admit({ input: "👋".repeat(4_096) })).resolves.toBeDefined();
  });
});

describe("the voice of a standard name", () => {
  it("is the model's own of that name, else the one at its place, counted round", () => {
    const voices = model.voices ?? [];
    expect(findVoice("alloy", voices)).toBe("af_alloy");
    expect(findVoice("ash", voices)).toBe("af_heart");
    expect(findVoice("coral", voices)).toBe("af_alloy");
    expect(findVoice("nova", ["default"])).toBe("default");
  });

  it("is refused with the names there are when it is none", () => {
    expect(() => findVoice("bella", ["af_heart"])).toThrow(
      /one of af_heart, alloy, ash.*got "bella"/,
    );
  });
});
