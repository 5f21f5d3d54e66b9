// Calls every endpoint by the client that @hey-api/openapi-ts made, and prints what came.
import * as api from "./hey/index.js";
import { client } from "./hey/client.gen.js";

const { ORIGIN = "", KEY = "", PICTURE = "" } = process.env;
client.setConfig({ baseUrl: `${ORIGIN}/v1`, auth: KEY, throwOnError: true });

/** Of files. */
async function begin(blob: Blob | File): Promise<string> {
  return Buffer.from(await blob.slice(0, 12).arrayBuffer()).toString("latin1");
}

const throwOnError = true as const;
const { data: models } = await api.listModels({ throwOnError });
const model = await api.getModel({ path: { id: "service-chat-1" }, throwOnError });
const { data: chat } = await api.createChatCompletion({
  body: { model: model.data.id, messages: [{ role: "user", content: "Hello." }], max_tokens: 8 },
  throwOnError,
});
const { data: text } = await api.createTextCompletion({
  body: { model: model.data.id, prompt: "Once upon a time", max_tokens: 8 },
  throwOnError,
});
const { data: response } = await api.createResponse({
  body: { model: model.data.id, input: "Hello.", max_output_tokens: 8 },
  throwOnError,
});
const ofResponse = { path: { id: (response as api.ResponseObject).id }, throwOnError };
const { data: read } = await api.getResponse(ofResponse);
const { data: asked } = await api.listResponseInputItems(ofResponse);
const { data: forgotten } = await api.deleteResponse(ofResponse);
const { data: embeddings } = await api.createEmbedding({
  body: { model: "service-embed-1", input: ["a boat", "a lake"] },
  throwOnError,
});
const body = {
  model: "service-rerank-1",
  query: "a boat",
  documents: ["a bowl of soup", "a red boat"],
};
const { data: ranked } = await api.createRerank({ body, throwOnError });
const { data: rankedV2 } = await api.createRerankV2({ body, baseUrl: ORIGIN as "/", throwOnError });
const { data: moderation } = await api.createModeration({
  body: { input: "a red boat" },
  throwOnError,
});
const { data: images } = await api.createImage({
  body: { prompt: "a red boat", quality: "low" },
  throwOnError,
});
const words = "A red boat sails across the ocean.";
const { data: sound } = await api.createAudioSpeech({
  body: { model: "service-voice-1", input: words, voice: "alloy", response_format: "wav" },
  throwOnError,
});
const speech = sound as Blob;
const { data: transcription } = await api.createTranscription({
  body: { model: "service-transcribe-1", file: new File([speech], "speech.wav") },
  throwOnError,
});

const { data: music } = await api.createMusic({
  body: { model: "service-music-1", prompt: "a calm piano", seconds: 1 },
  throwOnError,
});
const ofMusic = { path: { id: music.id }, throwOnError };
const { data: piece } = await api.getMusic({ ...ofMusic, query: { wait: 60 } });
const { data: tune } = await api.downloadMusic(ofMusic);

const { data: video } = await api.createVideo({
  body: { model: "service-motion-1", prompt: "a red boat", seconds: 4, quality: "fast" },
  throwOnError,
});
const path = { id: video.id };
const { stream } = await api.followVideo({ path });
let clip = video;
for await (const change of stream) clip = change as api.Video;
const { data: film } = await api.downloadVideo({ path, throwOnError });
const { data: link } = await api.linkVideo({ path, throwOnError });
const { data: charge } = await api.getCharge({ path, throwOnError });
const { data: listed } = await api.listVideos({ query: { limit: 1 }, throwOnError });
const { data: deleted } = await api.deleteVideo({ path, throwOnError });
const missing = await api.getVideo({ path, throwOnError: false });

const { data: animated } = await api.createVideo({
  body: {
    model: "service-motion-1",
    prompt: "a red boat",
    seconds: 4,
    image: `data:image/png;base64,${PICTURE}`,
  },
  throwOnError,
});
const { data: cancelled } = await api.cancelVideo({ path: { id: animated.id }, throwOnError });
const completion = chat as api.ChatCompletion;
const pictures = images as api.ImageList;
process.stdout.write(
  JSON.stringify({
    models: models.data.map(({ id }) => id),
    chat: completion.choices[0]?.message.content,
    completion: (text as api.TextCompletion).choices[0]?.text,
    response: [
      read.id === (response as api.ResponseObject).id,
      read.output[0]?.type,
      asked.data[0]?.type,
      forgotten.deleted,
    ],
    embeddings: embeddings.data.map(({ embedding }) => embedding.length),
    rerank: [ranked, rankedV2].map(({ results }) => [results[0]?.index, results[0]?.document]),
    moderation: moderation.results.map(({ flagged }) => flagged),
    image: pictures.data[0]?.b64_json?.slice(0, 8),
    speech: await begin(speech),
    transcription: (transcription as api.PlainTranscription).text,
    music: [piece.status, (await begin(tune)).slice(0, 3)],
    video: [clip.status, (await begin(film)).slice(4, 8), link.media_type, charge.amount],
    list: [listed.data[0]?.id === video.id, deleted.deleted],
    missing: [missing.response?.status, missing.error?.error.code],
    cancelled: cancelled.error?.code,
  }),
);
