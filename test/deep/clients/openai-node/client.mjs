// What users of the openai package do: conversations, streams, tools that it runs itself, media, errors.
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI, { toFile } from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { VERSION } from "openai/version";
import { z } from "zod";

const model = "service-chat-1";
const client = new OpenAI();
const user = (content) => ({ role: "user", content });
const facts = { version: VERSION };

// Chat
const messages = [user("My name is Naomi.")];
const first = await client.chat.completions.create({ model, messages, temperature: 0 });
messages.push(first.choices[0].message, user("What is my name?"));
const second = await client.chat.completions.create({ model, messages, temperature: 0 });
facts["second turn"] = second.choices[0].message.content;

const stream = client.chat.completions.stream({
  model,
  messages: [user("What is the capital of Norway?")],
  temperature: 0,
  stream_options: { include_usage: true },
});
let said = "";
stream.on("content", (delta) => (said += delta));
const whole = await stream.finalChatCompletion();
facts["stream"] = [said, whole.choices[0].message.content === said, whole.usage.total_tokens > 0];

const Person = z.object({ name: z.string(), age: z.int() });
const parsed = await client.chat.completions.parse({
  model,
  messages: [user("Naomi is 31 years old.")],
  response_format: zodResponseFormat(Person, "person"),
  temperature: 0,
});
facts["parse"] = parsed.choices[0].message.parsed;

const asked = [];
const weather = (given) => {
  asked.push(given);
  return { temperature: 21, conditions: "sunny" };
};
const parameters = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const tool = { name: "get_weather", description: "Gives the weather of a city.", parameters };
const runner = client.chat.completions.runTools({
  model,
  temperature: 0,
  messages: [user("What is the weather in Paris?")],
  tools: [{ type: "function", function: { ...tool, parse: JSON.parse, function: weather } }],
});
facts["tool loop"] = await runner.finalContent();
const streamed = client.chat.completions.runTools({
  model,
  temperature: 0,
  stream: true,
  messages: [user("What is the weather in Paris?")],
  tools: [{ type: "function", function: { ...tool, parse: JSON.parse, function: weather } }],
});
facts["streamed tool loop"] = [await streamed.finalContent(), asked];

// Text completions
const pieces = await client.completions.create({
  model,
  prompt: "Once upon a time",
  max_tokens: 8,
  temperature: 0,
  stream: true,
});
let continued = "";
for await (const piece of pieces) continued += piece.choices[0]?.text ?? "";
const plain = { model, prompt: "Once upon a time", max_tokens: 8, temperature: 0 };
const { choices } = await client.completions.create(plain);
facts["completions"] = [continued.length > 0, choices[0].text === continued];

// Responses
const start = await client.responses.create({ model, input: "My name is Naomi.", temperature: 0 });
const follow = await client.responses.create({
  model,
  input: "What is my name?",
  previous_response_id: start.id,
  temperature: 0,
});
facts["second response"] = follow.output_text;
const events = client.responses.stream({
  model,
  input: "What is the capital of Norway?",
  temperature: 0,
});
let written = "";
events.on("response.output_text.delta", ({ delta }) => (written += delta));
facts["streamed response"] = [(await events.finalResponse()).output_text === written, written];
const structured = await client.responses.parse({
  model,
  input: "Naomi is 31 years old.",
  text: { format: zodTextFormat(Person, "person") },
  temperature: 0,
});
facts["parsed response"] = structured.output_parsed;
const tools = [{ type: "function", ...tool, strict: true }];
const calling = await client.responses.create({
  model,
  input: "What is the weather in Paris?",
  tools,
  temperature: 0,
});
const call = calling.output.find(({ type }) => type === "function_call");
const output = JSON.stringify({ temperature: 21, conditions: "sunny" });
const answered = await client.responses.create({
  model,
  input: [{ type: "function_call_output", call_id: call.call_id, output }],
  previous_response_id: calling.id,
  tools,
  temperature: 0,
});
facts["response's tool"] = [call.arguments, answered.output_text];
const items = [];
for await (const item of client.responses.inputItems.list(start.id)) items.push(item);
facts["input items"] = items.map(({ content }) => content[0].text);
let later = await client.responses.create({ model, input: "Hello!", background: true });
const statuses = [later.status];
while (["queued", "in_progress"].includes(later.status))
  later = await client.responses.retrieve(later.id);
facts["background"] = [...statuses, later.status];
let last;
for await (const event of await client.responses.retrieve(start.id, { stream: true })) last = event;
facts["replayed response"] = last.type;

// Vectors, verdicts
const input = ["a boat in the harbour", "a bowl of soup"];
const vectors = await client.embeddings.create({ model: "service-embed-1", input });
facts["embeddings"] = vectors.data.map(({ embedding }) => embedding.length);
const verdicts = await client.moderations.create({ model: "service-moderate-1", input });
facts["moderations"] = verdicts.results.map(({ flagged }) => flagged);

// Media
const prompt = "a red boat";
const paint = { model: "service-image-1", prompt, quality: "low", output_format: "webp" };
const painted = await client.images.generate(paint);
facts["image"] = Buffer.from(painted.data[0].b64_json, "base64").toString("latin1", 8, 12);
const kinds = [];
for await (const event of await client.images.generate({
  ...paint,
  stream: true,
  partial_images: 1,
}))
  kinds.push(event.type);
facts["partial images"] = kinds;
const spoken = await client.audio.speech.create({
  model: "service-voice-1",
  voice: "alloy",
  input: "A red boat sails across the ocean.",
  response_format: "wav",
});
const sound = Buffer.from(await spoken.arrayBuffer());
facts["speech"] = sound.toString("latin1", 8, 12);
let heard = "";
for await (const event of await client.audio.transcriptions.create({
  model: "service-transcribe-1",
  file: await toFile(sound, "speech.wav"),
  stream: true,
}))
  if (event.type === "transcript.text.done") heard = event.text;
facts["streamed transcription"] = heard;
const video = { model: "service-motion-1", prompt, seconds: "4", quality: "fast" };
let clip = await client.videos.create(video);
while (["queued", "in_progress"].includes(clip.status)) {
  await sleep(200);
  clip = await client.videos.retrieve(clip.id);
}
const film = Buffer.from(await (await client.videos.downloadContent(clip.id)).arrayBuffer());
facts["video"] = [
  clip.status,
  clip.seconds,
  film.toString("latin1", 4, 8),
  (await client.videos.delete(clip.id)).deleted,
];

// Errors, each as its class
async function refusal(answer) {
  const error = await answer.then(
    () => undefined,
    (reason) => reason,
  );
  return [error.constructor.name, error.code, error.param, typeof error.requestID];
}
const hello = { model, messages: [user("Hello!")], max_tokens: 1 };
const withKey = (apiKey) => new OpenAI({ apiKey }).chat.completions.create(hello);
const create = (own) => client.chat.completions.create({ ...hello, ...own });
facts["errors"] = [
  await refusal(withKey("fm_wrong")),
  await refusal(create({ model: "gpt-9" })),
  await refusal(create({ temperature: 9 })),
  await refusal(create({ messages: [user("boat ".repeat(2_000))] })),
  await refusal(withKey(process.env.SPENT_API_KEY)),
  await refusal(client.videos.retrieve(`video_${"0".repeat(32)}`)),
];
process.stdout.write(JSON.stringify(facts));
