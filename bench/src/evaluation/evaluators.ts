import { evaluateChat } from "./chat.js";
import { evaluateEmbeddings } from "./embeddings.js";
import type { Evaluate } from "./evaluator.js";
import { evaluateImage } from "./image.js";
import { evaluateModeration } from "./moderation.js";
import { evaluateMusic } from "./music.js";
import { evaluateRerank } from "./rerank.js";
import { evaluateSpeech } from "./speech.js";
import { evaluateTranscription } from "./transcription.js";
import { evaluateVideo } from "./video.js";

/** How the models of each modality are measured. */
export const evaluators: Readonly<Record<string, Evaluate>> = {
  chat: evaluateChat,
  embeddings: evaluateEmbeddings,
  image: evaluateImage,
  moderation: evaluateModeration,
  music: evaluateMusic,
  rerank: evaluateRerank,
  speech: evaluateSpeech,
  transcription: evaluateTranscription,
  video: evaluateVideo,
};
