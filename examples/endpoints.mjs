// Every endpoint once, with the stock OpenAI and Cohere clients. Run `npm run framemill -- up` first, then,
// with the base address and the key that it prints:
//
//   FRAMEMILL_BASE_URL=… FRAMEMILL_API_KEY=… node examples/endpoints.mjs
//
// Names of endpoints choose some of them; options choose other models than the starters, from those of
// `npm run framemill -- models list`: … endpoints.mjs chat speech --chat qwen3-0.6b --speech kokoro-82m
//
// Files go to --out; the exit code is 1 when a call failed.
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { parseArgs } from "node:util";
import { CohereClientV2 } from "cohere-ai";
import OpenAI from "openai";

const text = { type: "string" };
const starter = (name) => ({ ...text, default: `service-${name}-1` });
const { values: args, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    chat: starter("chat"), // serves completions and responses, too
    image: starter("image"),
    speech: starter("voice"),
    transcription: starter("transcribe"),
    music: starter("music"),
    video: starter("motion"),
    embeddings: starter("embed"),
    rerank: starter("rerank"),
    moderation: starter("moderate"),
    voice: { ...text, default: "alloy" },
    sound: text, // to transcribe; what speech said when left out
    out: { ...text, default: "." },
  },
});

const { FRAMEMILL_BASE_URL: baseURL, FRAMEMILL_API_KEY: apiKey } = process.env;
const openai = new OpenAI({ baseURL, apiKey });
const environment = new URL(openai.baseURL).origin; // its client adds /v2
const cohere = new CohereClientV2({ environment, token: openai.apiKey });
const speechPath = join(args.out, "speech.mp3");

const PROMPT = "a red boat sails across the ocean at sunset";
const DOCUMENTS = [
  "A red boat sails home.",
  "Soup is best when it is hot.",
  "The harbour is full.",
];

/** Name → what is called with the model's name and resolves to a line for people. */
const calls = {
  async chat(model) {
    const messages = [{ role: "user", content: "Tell me of a red boat." }];
    const chunks = await openai.chat.completions.create({
      model,
      messages,
      max_tokens: 32,
      stream: true,
      stream_options: { include_usage: true },
    });
    let said = "";
    let usage;
    for await (const chunk of chunks) {
      said += chunk.choices[0]?.delta.content ?? "";
      usage = chunk.usage ?? usage;
    }
    return `${usage.completion_tokens} tokens: ${shorten(said)}`;
  },

  async completions(model) {
    const prompt = "The red boat is";
    const { choices } = await openai.completions.create({ model, prompt, max_tokens: 32 });
    return shorten(prompt + choices[0].text);
  },

  async responses(model) {
    const input = "Tell me of a red boat.";
    const first = await openai.responses.create({ model, input, max_output_tokens: 32 });
    const events = await openai.responses.create({
      model,
      previous_response_id: first.id, // the service keeps the conversation
      input: "And then?",
      max_output_tokens: 32,
      stream: true,
    });
    let said = "";
    for await (const event of events) {
      if (event.type === "response.output_text.delta") said += event.delta;
    }
    return `${shorten(first.output_text)}, then ${shorten(said)}`;
  },

  async image(model) {
    const events = await openai.images.generate({
      model,
      prompt: PROMPT,
      stream: true,
      partial_images: 2,
    });
    const paths = [];
    for await (const event of events) {
      const isPartial = event.type === "image_generation.partial_image";
      const name = isPartial ? `image-partial-${event.partial_image_index}.png` : "image.png";
      paths.push(join(args.out, name));
      await writeFile(paths.at(-1), Buffer.from(event.b64_json, "base64"));
    }
    return paths.join(", ");
  },

  async speech(model) {
    const input = "A red boat sails across the ocean. The sun is going down.";
    const sound = await openai.audio.speech.create({ model, voice: args.voice, input });
    await pipeline(sound.body, createWriteStream(speechPath)); // arrives while it is made
    return speechPath;
  },

  async transcription(model) {
    const file = createReadStream(args.sound ?? speechPath);
    const events = await openai.audio.transcriptions.create({ model, file, stream: true });
    let heard = "";
    for await (const event of events) {
      if (event.type === "transcript.text.delta") heard += event.delta;
    }
    return `heard: ${shorten(heard)}`;
  },

  async music(model) {
    // Not in OpenAI's interface: the client's own get and post reach it.
    const body = { model, prompt: "a calm piano melody over soft strings", seconds: 3 };
    let piece = await openai.post("/music", { body });
    while (piece.status === "queued" || piece.status === "in_progress") {
      piece = await openai.get(`/music/${piece.id}`, { query: { wait: 60 } });
    }
    if (piece.status === "failed") throw new Error(piece.error.message);
    const path = join(args.out, "music.mp3");
    await save(await openai.get(`/music/${piece.id}/content`).asResponse(), path);
    return `${path}, $${piece.cost.final}`;
  },

  async video(model) {
    let clip = await openai.videos.create({ model, prompt: PROMPT, seconds: "4" });
    while (clip.status === "queued" || clip.status === "in_progress") {
      clip = await openai.get(`/videos/${clip.id}`, { query: { wait: 60 } });
    }
    if (clip.status === "failed") throw new Error(clip.error.message);
    const path = join(args.out, "clip.mp4");
    await save(await openai.videos.downloadContent(clip.id), path);
    return `${path}, $${clip.cost.final}`;
  },

  async embeddings(model) {
    const { data } = await openai.embeddings.create({ model, input: DOCUMENTS });
    return `${data.length} vectors of ${data[0].embedding.length} numbers`;
  },

  async rerank(model) {
    const query = "Where is the boat?";
    const { results } = await cohere.rerank({ model, query, documents: DOCUMENTS });
    return `nearest: ${DOCUMENTS[results[0].index]} (${results[0].relevanceScore.toFixed(3)})`;
  },

  async moderation(model) {
    const { results } = await openai.moderations.create({ model, input: DOCUMENTS });
    return results.map(({ flagged }) => (flagged ? "flagged" : "fine")).join(", ");
  },
};

function shorten(said) {
  return JSON.stringify(said.length > 60 ? `${said.slice(0, 60)}…` : said);
}

async function save(response, path) {
  await pipeline(response.body, createWriteStream(path));
}

const unknown = positionals.find((name) => !(name in calls));
if (unknown !== undefined)
  throw new Error(`no endpoint "${unknown}": ${Object.keys(calls).join(", ")}`);
const asked = positionals.length > 0 ? positionals : Object.keys(calls);

await mkdir(args.out, { recursive: true });
for (const name of asked) {
  const model = args[name] ?? args.chat;
  try {
    process.stdout.write(`${name.padEnd(14)} ${await calls[name](model)}\n`);
  } catch (error) {
    process.stdout.write(`${name.padEnd(14)} FAILED: ${error.message}\n`);
    process.exitCode = 1;
  }
}
