import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cli, environmentOf, type Running, startProgram } from "../../support/service-harness.js";

const [PICTURES, VOICE, CLIPS] = ["service-image-1", "service-voice-1", "service-motion-1"];

const prompt = "a red boat on the ocean at noon";
const unknownPrompt = "a violin on the ocean at noon";
const unknown = [
  "The prompt names no subject that this model knows; it drew the scene without one.",
];
const longPrompt = Array.from({ length: 5 }, () => prompt).join(" and ");
/** Of the prompt's 44 words, joints among them. */
const cut = ["Only the first 32 of the prompt's 44 words were read."];

describe("what a model did not understand", { timeout: 180_000 }, () => {
  let folder = "";
  let up: Running;
  let baseURL = "";
  let client: OpenAI;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-notes-"));
    const models = [PICTURES, VOICE, CLIPS].join(",");
    up = startProgram(
      [process.execPath, cli, "up", "--no-limits"],
      environmentOf(folder, { MODELS: models }),
    );
    [, baseURL = ""] = await up.says(/base address +(\S+)\n/);
    client = new OpenAI({ baseURL, apiKey: "EMPTY", maxRetries: 0 });
  });
  afterAll(async () => {
    await up?.stop("SIGTERM");
    await rm(folder, { recursive: true, force: true });
  });

  test("stands beside a picture, whole and streamed", async () => {
    const body = { model: PICTURES, quality: "low", seed: 1 };
    const asked = async (words: string, stream = false) => {
      const answer = await fetch(
        `${baseURL}/images/generations`,
        post({ ...body, prompt: words, stream }),
      );
      return await answer.text();
    };
    expect(JSON.parse(await asked(prompt))).toMatchObject({ model_notes: [] });
    expect(JSON.parse(await asked(unknownPrompt))).toMatchObject({ model_notes: unknown });
    expect(JSON.parse(await asked(longPrompt))).toMatchObject({ model_notes: cut });
    expect(await asked(longPrompt, true)).toContain(`"model_notes":${JSON.stringify(cut)}`);
  });

  test.each([
    ["too long", longPrompt, cut],
    ["of a subject that the model does not know", unknownPrompt, unknown],
  ])("stands in the object of a clip whose prompt is %s", async (_, words, notes) => {
    const clip = { model: CLIPS, prompt: words, seconds: "4", quality: "fast" };
    const { id } = await client.post<{ id: string }>("/videos", { body: clip });
    const read = () => client.get(`/videos/${id}?wait=60`);
    expect(await read()).toMatchObject({ status: "completed", model_notes: notes });
  });

  test("stands in a header of speech, and in the last event of its stream", async () => {
    const body = {
      model: VOICE,
      voice: "alloy",
      input: "Good 早安 morning.",
      response_format: "wav",
    };
    const left = "2 of 13 letters were left out: this voice has no sounds for them.";
    const whole = await fetch(`${baseURL}/audio/speech`, post(body));
    expect(whole.headers.get("x-model-notes")).toBe(left);
    const streamed = await fetch(
      `${baseURL}/audio/speech`,
      post({ ...body, stream_format: "sse" }),
    );
    expect(await streamed.text()).toContain(`"model_notes":["${left}"]`);
    const plain = await fetch(`${baseURL}/audio/speech`, post({ ...body, input: "Good morning." }));
    expect(plain.headers.has("x-model-notes")).toBe(false);
  });
});

function post(body: object): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}
