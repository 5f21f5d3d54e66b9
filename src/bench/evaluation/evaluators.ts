import { evaluateChat } from "./chat.js";
import { evaluateEmbeddings } from "./embeddings.js";
import type { Evaluate } from "./evaluator.js";
import { evaluateModeration } from "./moderation.js";
import { evaluateMusic } from "./music.js";
import { evaluateRerank } from "./rerank.js";
import { evaluateSpeech } from "./speech.js";
import { evaluateTranscription } from "./transcription.js";

/** How the models of each modality are measured. */
export const evaluators: Readonly<Record<string, Evaluate>> = {
  chat: evaluateChat,
  embeddings: evaluateEmbeddings,
  moderation: evaluateModeration,
  music: evaluateMusic,
  rerank: evaluateRerank,
  speech: evaluateSpeech,
  transcription: evaluateTranscription,
};
