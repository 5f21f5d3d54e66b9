import { fileURLToPath } from "node:url";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ModelInfo, Pipeline } from "#framemill/core/modality.js";
import { chat } from "#framemill/modalities/chat/index.js";
import { createChatPipeline } from "#framemill/modalities/chat/pipeline.js";
import { responses } from "#framemill/modalities/responses/index.js";
import { serveModalities, type ServedModality } from "../../support/modality-server.js";

const model = "service-chat-1";
const modelPath = fileURLToPath(new URL(`../../../models/${model}`, import.meta.url));

describe("service-chat-1", () => {
  let pipeline: Pipeline<never, never> | undefined;
  let server: Awaited<ReturnType<typeof serveModalities>> | undefined;
  let client: OpenAI;

  beforeAll(async () => {
    const setup = { threads: 1, ffmpegPath: "", ffprobePath: "", espeakPath: "" };
    pipeline = (await createChatPipeline({ modelPath, ...setup })) as Pipeline<never, never>;
    const info: ModelInfo = {
      id: model,
      modality: "chat",
      createdAtSeconds: 0,
      concurrency: 32,
      contextTokens: 1024,
    };
    const served = [chat, responses].map((modality) => ({ modality, pipeline }) as ServedModality);
    server = await serveModalities(served, info);
    client = new OpenAI({ apiKey: "none", baseURL: server.url, maxRetries: 0 });
  });
  afterAll(async () => {
    await server?.close();
    await pipeline?.close();
  });

  /** What is said in a talk of the user's turns, the last answer streamed. */
  async function talk(...turns: readonly string[]) {
    const messages: OpenAI.ChatCompletionMessageParam[] = [];
    const answers: string[] = [];
    for (const content of turns) {
      messages.push({ role: "user", content });
      const stream = client.chat.completions.stream({ model, messages, temperature: 0 });
      const [choice] = (await stream.finalChatCompletion()).choices;
      expect(choice?.finish_reason).toBe("stop");
      answers.push(choice?.message.content ?? "");
      messages.push({ role: "assistant", content: answers.at(-1) ?? "" });
    }
    return answers;
  }

  test("greets, explains and adds, and stops by itself", async () => {
    expect(await talk("hello")).toEqual([expect.stringMatching(/^(Hello|Hi)\b/)]);
    expect(await talk("HELLO THERE")).toEqual([expect.stringMatching(/^(Hello|Hi)\b/)]);
    expect(await talk("What is a dog?")).toEqual([expect.stringMatching(/^Dog: .*Canis/)]);
    expect(await talk("What is 12 plus 30?")).toEqual([expect.stringMatching(/\b42\.$/)]);
  });

  test("remembers what was said before", async () => {
    const answers = await talk("My name is Tina.", "What is the capital of France?", "Who am I?");
    expect(answers.slice(1)).toEqual([
      expect.stringContaining("Paris"),
      expect.stringContaining("Tina"),
    ]);
  });

  test("answers on responses", async () => {
    const answer = await client.responses.create({ model, input: "What is 12 plus 30?" });
    expect(answer.status).toBe("completed");
    expect(answer.output_text).toMatch(/\b42\.$/);
  });

  test("calls the tool that serves the request, and speaks of its result", async () => {
    const asked: unknown[] = [];
    const runner = client.chat.completions.runTools({
      model,
      temperature: 0,
      messages: [{ role: "user", content: "What is the weather in Paris?" }],
      tools: [
        {
          type: "function",
          function: {
            name: "get_weather",
            description: "Gives the weather of a city.",
            parameters: {
              type: "object",
              properties: { city: { type: "string" } },
              required: ["city"],
            },
            parse: JSON.parse,
            function: (given: unknown) => {
              asked.push(given);
              return { temperature: 21, sky: "sunny" };
            },
          },
        },
      ],
    });
    expect(await runner.finalContent()).toContain("21 degrees and sunny in Paris");
    expect(asked).toEqual([{ city: "Paris" }]);
  });
});
