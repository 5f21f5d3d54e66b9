// What the Vercel AI SDK has words for: text, structured text, pictures, speech, transcripts, embeddings
// and rerank. Run `npm run framemill -- up` first, then, with the base address and the key that it prints:
//
//   FRAMEMILL_BASE_URL=… FRAMEMILL_API_KEY=… node examples/ai-sdk.mjs [FOLDER]
//
// For moderations, music and videos see endpoints.mjs: the SDK has no such calls for this provider.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createCohere } from "@ai-sdk/cohere";
import { createOpenAI } from "@ai-sdk/openai";
import {
  embedMany,
  experimental_generateSpeech as generateSpeech,
  experimental_transcribe as transcribe,
  generateImage,
  generateText,
  Output,
  rerank,
  streamText,
} from "ai";
import { z } from "zod";

const { FRAMEMILL_BASE_URL: baseURL, FRAMEMILL_API_KEY: apiKey } = process.env;
const openai = createOpenAI({ baseURL, apiKey });
const cohere = createCohere({ baseURL: new URL("/v2", baseURL).href, apiKey });

const [out = "."] = process.argv.slice(2);
const prompt = "a red boat sails across the ocean at sunset";
const documents = [
  "A red boat sails home.",
  "Soup is best when it is hot.",
  "The harbour is full.",
];
const say = (name, line) => process.stdout.write(`${name.padEnd(14)} ${line}\n`);
await mkdir(out, { recursive: true });

const chat = streamText({
  model: openai.chat("service-chat-1"),
  prompt: "Tell me of a red boat.",
  maxOutputTokens: 32,
});
let said = "";
for await (const delta of chat.textStream) said += delta;
say("chat", JSON.stringify(said));

const continued = await generateText({
  model: openai.completion("service-chat-1"),
  prompt: "The red boat is",
  maxOutputTokens: 32,
});
say("completions", JSON.stringify(continued.text));

const { output } = await generateText({
  model: openai.responses("service-chat-1"),
  output: Output.object({ schema: z.object({ colour: z.string().max(20) }) }),
  prompt: "What colour is a red boat?",
  maxOutputTokens: 64,
});
say("responses", JSON.stringify(output));

// A second turn: the SDK sends what the model said before by the id that the service stores it under.
const question = { role: "user", content: "Tell me of a red boat." };
const model = openai("service-chat-1");
const { response } = await generateText({ model, messages: [question], maxOutputTokens: 16 });
const next = await generateText({
  model,
  messages: [question, ...response.messages, { role: "user", content: "And its captain?" }],
  maxOutputTokens: 16,
});
say("second turn", JSON.stringify(next.text));

const { image } = await generateImage({ model: openai.image("service-image-1"), prompt });
await writeFile(join(out, "image.png"), image.uint8Array);
say("image", join(out, "image.png"));

const speech = await generateSpeech({
  model: openai.speech("service-voice-1"),
  voice: "alloy",
  text: "A red boat sails across the ocean.",
});
await writeFile(join(out, "speech.mp3"), speech.audio.uint8Array);
say("speech", join(out, "speech.mp3"));

const heard = await transcribe({
  model: openai.transcription("service-transcribe-1"),
  audio: await readFile(join(out, "speech.mp3")),
});
say("transcription", JSON.stringify(heard.text));

const { embeddings } = await embedMany({
  model: openai.embedding("service-embed-1"),
  values: documents,
});
say("embeddings", `${embeddings.length} vectors of ${embeddings[0].length} numbers`);

const { ranking } = await rerank({
  model: cohere.reranking("service-rerank-1"),
  query: "Where is the boat?",
  documents,
});
say("rerank", ranking[0].document);
