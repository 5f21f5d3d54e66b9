// What users of the AI SDK do: conversations, tools, objects and streams by three providers. One call of each
// kind is in examples/ai-sdk.mjs, pictures and sound among them.
import { createCohere } from "@ai-sdk/cohere";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embedMany, generateText, Output, rerank, stepCountIs, streamText, tool } from "ai";
import { createRequire } from "node:module";
import { z } from "zod";

const { OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey, SPENT_API_KEY, CO_API_URL } = process.env;
const name = "service-chat-1";
const versionOf = (of) => createRequire(import.meta.url)(`${of}/package.json`).version;
const facts = { version: versionOf("ai") };

const openai = createOpenAI({ baseURL, apiKey });
const compatible = createOpenAICompatible({
  name: "framemill",
  baseURL,
  apiKey,
  includeUsage: true,
  supportsStructuredOutputs: true,
});
const models = {
  responses: openai(name),
  chat: openai.chat(name),
  compatible: compatible(name),
};

const user = (content) => ({ role: "user", content });
const get_weather = tool({
  description: "Gives the weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: () => ({ temperature: 21, conditions: "sunny" }),
});
const Person = z.object({ name: z.string(), age: z.int() });

for (const [kind, model] of Object.entries(models)) {
  const exact = { model, temperature: 0 };
  const messages = [user("My name is Naomi.")];
  const first = await generateText({ ...exact, messages });
  messages.push(...first.response.messages, user("What is my name?"));
  facts[`${kind}: second turn`] = (await generateText({ ...exact, messages })).text;

  const agent = { ...exact, tools: { get_weather }, stopWhen: stepCountIs(3) };
  const question = [user("What is the weather in Paris?")];
  const loop = await generateText({ ...agent, messages: question });
  facts[`${kind}: tool loop`] = [loop.text, loop.steps.length, loop.finishReason];
  const after = [...question, ...loop.response.messages, user("My name is Naomi.")];
  const next = await generateText({ ...agent, messages: after, maxOutputTokens: 8 });
  facts[`${kind}: turn after tools`] = next.text.length > 0;

  const stream = streamText({ ...exact, prompt: "What is the capital of Norway?" });
  let said = "";
  for await (const delta of stream.textStream) said += delta;
  facts[`${kind}: stream`] = [said, (await stream.totalUsage).totalTokens > 0];
  const streamed = streamText({ ...agent, messages: question });
  facts[`${kind}: streamed tool loop`] = await streamed.text;

  const person = { ...exact, output: Output.object({ schema: Person }) };
  const { output } = await generateText({ ...person, prompt: "Naomi is 31 years old." });
  facts[`${kind}: object`] = output;
}
const record = Output.object({ schema: z.object({ ages: z.record(z.string(), z.number()) }) });
const ages = await generateText({
  model: models.responses,
  temperature: 0,
  output: record,
  prompt: "Naomi is 31 years old.",
});
facts["record"] = typeof ages.output.ages;
const once = { temperature: 0, prompt: "Once upon a time", maxOutputTokens: 8 };
facts["text completion"] =
  (await generateText({ ...once, model: openai.completion(name) })).text.length > 0;
const pieces = streamText({ ...once, model: compatible.completionModel(name) });
facts["streamed completion"] = (await pieces.text).length > 0;

const { embeddings } = await embedMany({
  model: compatible.embeddingModel("service-embed-1"),
  values: ["a boat", "a bowl of soup"],
});
facts["embeddings"] = embeddings.map(({ length }) => length);
const cohere = createCohere({ baseURL: `${CO_API_URL}/v2`, apiKey });
const { ranking } = await rerank({
  model: cohere.reranking("service-rerank-1"),
  query: "Where is the boat?",
  documents: [{ text: "Soup is best when it is hot." }, { text: "A red boat sails home." }],
  topN: 1,
});
facts["rerank of objects"] = ranking.map(({ originalIndex }) => originalIndex);

async function refusal(own) {
  const error = await generateText({ model: models.chat, prompt: "Hello!", ...own }).then(
    () => undefined,
    (reason) => reason,
  );
  return [error.name, error.statusCode, error.data?.error.code];
}
const withKey = (key) => ({ model: createOpenAI({ baseURL, apiKey: key }).chat(name) });
facts["errors"] = [
  await refusal(withKey("fm_wrong")),
  await refusal({ model: openai.chat("gpt-9") }),
  await refusal({ temperature: 9 }),
  await refusal({ ...withKey(SPENT_API_KEY), maxRetries: 0 }),
];
process.stdout.write(JSON.stringify(facts));
