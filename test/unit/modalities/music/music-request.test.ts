import { describe, expect, test } from "vitest";
import { JobError } from "#framemill/core/errors.js";
import type { AdmitContext, JobView } from "#framemill/core/modality.js";
import { quote } from "#framemill/core/usage.js";
import { musicObject } from "#framemill/modalities/music/answer.js";
import { music } from "#framemill/modalities/music/index.js";
import {
  type MusicOutput,
  type MusicRequest,
  parseMusicBody,
} from "#framemill/modalities/music/request.js";

const model = { id: "m", modality: "music", createdAtSeconds: 0, concurrency: 1, maxSeconds: 60 };
const smallest = { model: "m", prompt: "a calm piano", seconds: 10 };

function refusal(body: object, of: typeof model & { lyrics?: boolean } = model): unknown {
  try {
    return parseMusicBody({ ...smallest, ...body }, of);
  } catch (thrown) {
    return thrown;
  }
}

async function admit(body: object): Promise<MusicRequest> {
  const context: AdmitContext = {
    model,
    path: "/v1/music",
    saveInput: () => Promise.reject(new Error("music has no inputs")),
    findEarlier: () => Promise.resolve(undefined),
  };
  return await music.admit({ ...smallest, ...body }, context);
}

describe("a music request", () => {
  test("needs no more than a model, a prompt and a length", async () => {
    expect(await admit({ seed: 7 })).toEqual({
      model: "m",
      prompt: "a calm piano",
      lyrics: null,
      instrumental: true,
      seconds: 10,
      format: "mp3",
      seed: 7,
      metadata: null,
    });
  });

  test("reads what a multipart form sends as text", async () => {
    const form = { seconds: "60", seed: "9", instrumental: "true", lyrics: "" };
    expect(await admit(form)).toMatchObject({
      seconds: 60,
      seed: 9,
      instrumental: true,
      lyrics: null,
    });
  });

  test("draws its seed when it is accepted, so that a second attempt makes the same piece", async () => {
    const [first, second] = [await admit({}), await admit({})];
    expect(Number.isSafeInteger(first.seed)).toBe(true);
    expect(first.seed).not.toBe(second.seed);
  });

  test.each([
    ["seconds", { seconds: 61 }],
    ["seconds", { seconds: 0 }],
    ["seconds", { seconds: 4.5 }],
    ["seconds", { seconds: "abc" }],
    ["prompt", { prompt: "   " }],
    ["prompt", { prompt: "x".repeat(4_097) }],
    ["response_format", { response_format: "aac" }],
    ["seed", { seed: -1 }],
    ["lyrics", { lyrics: "la la la" }],
    ["instrumental", { instrumental: false }],
    ["tempo", { tempo: 120 }],
  ])("is refused for its %s: %j", (param, body) => {
    const error = refusal(body);
    expect(error).toBeInstanceOf(JobError);
    expect(error).toMatchObject({ param, httpStatus: 400 });
  });

  test("may have lyrics where the model sings, but not when it must be instrumental", () => {
    const singer = { ...model, lyrics: true };
    expect(refusal({ lyrics: "la la" }, singer)).toMatchObject({
      lyrics: "la la",
      instrumental: false,
    });
    const both = refusal({ lyrics: "la la", instrumental: true }, singer);
    expect(both).toMatchObject({ code: "invalid_value", param: "lyrics" });
  });

  test("reserves the seconds ordered, is billed those made, and shows what a second costs", async () => {
    const request = await admit({ response_format: "flac" });
    expect(music.mostUnits(request, model)).toEqual({ audioSeconds: 10 });
    expect(music.countUnits(request, { audioSeconds: 9.5 })).toEqual({ audioSeconds: 9.5 });
    const view: JobView<MusicRequest, MusicOutput> = {
      id: "music_1",
      model: "m",
      serviceTier: "default",
      state: "completed",
      request,
      progress: 100,
      stage: null,
      createdAtMs: 1_000,
      startedAtMs: 2_000,
      completedAtMs: 9_999,
      expiresAtMs: null,
      failure: null,
      queuePosition: null,
      etaSeconds: null,
      quote: quote({ audioSeconds: 2_000 }, { audioSeconds: 10 }),
      chargedNanoUsd: 19_000_000,
      usage: null,
      output: null,
    };
    const object = music.render?.(view);
    expect(object).toMatchObject({ object: "music", response_format: "flac", completed_at: 9 });
    expect(object?.["cost"]).toEqual({
      currency: "usd",
      per_second: 0.002,
      amount: 0.02,
      final: 0.019,
    });
    expect(musicObject.parse(object)).toEqual(object);
  });
});
