// Calls every endpoint by openapi-fetch with the types that openapi-typescript made, and prints what came.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const { ORIGIN = "", KEY = "", PICTURE = "" } = process.env;
const headers = { authorization: `Bearer ${KEY}` };
const { GET, POST, DELETE } = createClient<paths>({ baseUrl: `${ORIGIN}/v1`, headers });
const beside = createClient<paths>({ baseUrl: ORIGIN, headers });

function given<Data>({ data, error }: { data?: Data; error?: unknown }): Data {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

type Event = { type: string } | { object: "chat.completion.chunk" } | string;

/** An answer that was not asked to stream. */
function whole<Data>(answer: { data?: Data; error?: unknown }): Exclude<Data, Event> {
  return given(answer) as Exclude<Data, Event>;
}

/** The types have strings where bytes are; `parseAs` says what comes. */
function file(answer: { data?: unknown; error?: unknown }): Blob {
  return given(answer) as Blob;
}

/** A form of the body that the types describe. */
function toForm(body: object): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) form.append(name, value);
  return form;
}

/** Of files. */
async function begin(blob: Blob): Promise<string> {
  return Buffer.from(await blob.slice(0, 12).arrayBuffer()).toString("latin1");
}

const models = given(await GET("/models"));
const model = given(await GET("/models/{id}", { params: { path: { id: "service-chat-1" } } }));
const chat = whole(
  await POST("/chat/completions", {
    body: { model: model.id, messages: [{ role: "user", content: "Hello." }], max_tokens: 8 },
  }),
);
const completion = whole(
  await POST("/completions", {
    body: { model: model.id, prompt: "Once upon a time", max_tokens: 8 },
  }),
);
const response = whole(
  await POST("/responses", { body: { model: model.id, input: "Hello.", max_output_tokens: 8 } }),
);
const ofResponse = { params: { path: { id: response.id } } };
const read = whole(await GET("/responses/{id}", ofResponse));
const asked = given(await GET("/responses/{id}/input_items", ofResponse));
const forgotten = given(await DELETE("/responses/{id}", ofResponse));
const embeddings = given(
  await POST("/embeddings", { body: { model: "service-embed-1", input: ["a boat", "a lake"] } }),
);
const ranking = {
  body: { model: "service-rerank-1", query: "a boat", documents: ["a bowl of soup", "a red boat"] },
};
const ranked = given(await POST("/rerank", ranking));
const rankedV2 = given(await beside.POST("/v2/rerank", ranking));
const moderation = given(await POST("/moderations", { body: { input: "a red boat" } }));
const images = whole(
  await POST("/images/generations", { body: { prompt: "a red boat", quality: "low" } }),
);
const words = "A red boat sails across the ocean.";
const speech = file(
  await POST("/audio/speech", {
    body: { model: "service-voice-1", input: words, voice: "alloy", response_format: "wav" },
    parseAs: "blob",
  }),
);
const transcription = whole(
  await POST("/audio/transcriptions", {
    body: { model: "service-transcribe-1", file: "" },
    bodySerializer: (body) => toForm({ ...body, file: new File([speech], "speech.wav") }),
  }),
);

const music = given(
  await POST("/music", { body: { model: "service-music-1", prompt: "a calm piano", seconds: 1 } }),
);
const ofMusic = { id: music.id };
const piece = given(await GET("/music/{id}", { params: { path: ofMusic, query: { wait: 60 } } }));
const tune = file(await GET("/music/{id}/content", { params: { path: ofMusic }, parseAs: "blob" }));

const video = given(
  await POST("/videos", {
    body: { model: "service-motion-1", prompt: "a red boat", seconds: 4, quality: "fast" },
  }),
);
const path = { id: video.id };
let clip = video;
while (clip.status === "queued" || clip.status === "in_progress")
  clip = given(await GET("/videos/{id}", { params: { path, query: { wait: 60 } } }));
const film = file(await GET("/videos/{id}/content", { params: { path }, parseAs: "blob" }));
const link = given(await GET("/videos/{id}/link", { params: { path } }));
const charge = given(await GET("/charges/{id}", { params: { path } }));
const listed = given(await GET("/videos", { params: { query: { limit: 1 } } }));
const deleted = given(await DELETE("/videos/{id}", { params: { path } }));
const missing = await GET("/videos/{id}", { params: { path } });

const animated = given(
  await POST("/videos", {
    body: { model: "service-motion-1", prompt: "a red boat", seconds: 4 },
    bodySerializer: (body) =>
      toForm({ ...body, image: new File([Buffer.from(PICTURE, "base64")], "boat.png") }),
  }),
);
const cancelled = given(
  await POST("/videos/{id}/cancel", { params: { path: { id: animated.id } } }),
);

process.stdout.write(
  JSON.stringify({
    models: models.data.map(({ id }) => id),
    chat: chat.choices[0]?.message.content,
    completion: completion.choices[0]?.text,
    response: [
      read.id === response.id,
      read.output[0]?.type,
      asked.data[0]?.type,
      forgotten.deleted,
    ],
    embeddings: embeddings.data.map(({ embedding }) => embedding.length),
    rerank: [ranked, rankedV2].map(({ results }) => [results[0]?.index, results[0]?.document]),
    moderation: moderation.results.map(({ flagged }) => flagged),
    image: images.data[0]?.b64_json?.slice(0, 8),
    speech: await begin(speech),
    transcription: transcription.text,
    music: [piece.status, (await begin(tune)).slice(0, 3)],
    video: [clip.status, (await begin(film)).slice(4, 8), link.media_type, charge.amount],
    list: [listed.data[0]?.id === video.id, deleted.deleted],
    missing: [missing.response.status, missing.error?.error.code],
    cancelled: cancelled.error?.code,
  }),
);
