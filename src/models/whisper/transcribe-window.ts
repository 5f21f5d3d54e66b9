import { chooseToken, createTokenRules, logSumExp } from "./decoding-rules.js";
import { compressionRatio } from "../speech-recognition/transcription-model.js";
import type { PromptLogits, WhisperDecoder } from "./decoder.js";
import { whisperText, type WhisperModel } from "./model.js";

export interface WindowTask {
  readonly model: WhisperModel;
  /** Has heard the window. */
  readonly decoder: WhisperDecoder;
  /** ISO 639 code; null for a model of English only. */
  readonly language: string | null;
  /** Tokens of what was said before, the newest last. */
  readonly previous: readonly number[];
  readonly withTimestamps: boolean;
  /** Tried in order until one gives plausible text; 0 chooses the likeliest token. */
  readonly temperatures: readonly number[];
  /** Uniform values in [0, 1). */
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** What a window says, with the measures that tell speech from invention. */
export interface WindowText {
  /** Text and times, without the end. */
  readonly tokens: readonly number[];
  /** Of each token, natural. */
  readonly logprobs: readonly number[];
  readonly text: string;
  readonly temperature: number;
  readonly averageLogprob: number;
  /** Bytes of the text over their deflated length: repetition makes it great. */
  readonly compressionRatio: number;
  /** Probability that nobody speaks. */
  readonly noSpeechProbability: number;
}

/** Thresholds of Radford et al. 2022, 4.5. */
const MAX_COMPRESSION_RATIO = 2.4;
const MIN_AVERAGE_LOGPROB = -1;
const MAX_NO_SPEECH_PROBABILITY = 0.6;

/** Greedy at first; where the text repeats itself or is unlikely, again at higher temperatures. */
export async function transcribeWindow(task: WindowTask): Promise<WindowText> {
  const { model, decoder } = task;
  const prompt = windowPrompt(task);
  const mark = prompt.indexOf(model.settings.tokens.startOfTranscript);
  task.signal.throwIfAborted();
  const logits = await decoder.start(prompt, mark);
  const room = model.settings.maxTokens - prompt.length;
  const maxTokens = Math.max(1, Math.min(Math.floor(model.settings.maxTokens / 2), room));
  const [first = 0, ...others] = task.temperatures;
  let attempt = await decodeOnce(task, { logits, temperature: first, maxTokens });
  for (const temperature of others) {
    if (!isDoubtful(attempt)) break;
    decoder.rewind();
    attempt = await decodeOnce(task, { logits, temperature, maxTokens });
  }
  return attempt;
}

/** Nobody speaks: likely so, and the text is not likely enough to say otherwise. */
export function isSilent({ noSpeechProbability, averageLogprob }: WindowText): boolean {
  return noSpeechProbability > MAX_NO_SPEECH_PROBABILITY && averageLogprob <= MIN_AVERAGE_LOGPROB;
}

function isDoubtful(text: WindowText): boolean {
  if (text.compressionRatio > MAX_COMPRESSION_RATIO) return !isSilent(text);
  return text.averageLogprob < MIN_AVERAGE_LOGPROB && !isSilent(text);
}

/** The language that is spoken in the window, by the first token after the start. */
export async function detectLanguage(
  { settings }: WhisperModel,
  decoder: WhisperDecoder,
): Promise<string | null> {
  const { languages, startOfTranscript } = settings.tokens;
  if (languages.size === 0) return null;
  const { last } = await decoder.start([startOfTranscript], 0);
  const score = (id: number) => last[id] ?? -Infinity;
  const ranked = [...languages].toSorted(([, a], [, b]) => score(b) - score(a));
  return ranked[0]?.[0] ?? null;
}

/** Start, language and task, as they stand behind what was said before. */
export function startTokens(
  { settings: { tokens } }: WhisperModel,
  { language, withTimestamps }: Pick<WindowTask, "language" | "withTimestamps">,
): number[] {
  const spoken = language === null ? undefined : tokens.languages.get(language);
  return [
    tokens.startOfTranscript,
    ...(spoken === undefined ? [] : [spoken, tokens.transcribe]),
    ...(withTimestamps ? [] : [tokens.noTimestamps]),
  ];
}

function windowPrompt(task: WindowTask): number[] {
  const { tokens, maxTokens } = task.model.settings;
  const most = Math.floor(maxTokens / 2) - 1;
  const previous = task.previous.slice(-most);
  const before = previous.length === 0 ? [] : [tokens.startOfPrevious, ...previous];
  return [...before, ...startTokens(task.model, task)];
}

interface Attempt {
  readonly logits: PromptLogits;
  readonly temperature: number;
  readonly maxTokens: number;
}

async function decodeOnce(task: WindowTask, attempt: Attempt): Promise<WindowText> {
  const { model, decoder, random, signal } = task;
  const { endOfText, noSpeech } = model.settings.tokens;
  const applyRules = createTokenRules(model.settings, task.withTimestamps);
  const tokens: number[] = [];
  const logprobs: number[] = [];
  let total = 0;
  let logits: Float32Array = Float32Array.from(attempt.logits.last);
  while (tokens.length < attempt.maxTokens) {
    signal.throwIfAborted();
    applyRules(logits, tokens);
    const { token, logprob } = chooseToken(logits, attempt.temperature, random);
    total += logprob;
    if (token === endOfText) break;
    tokens.push(token);
    logprobs.push(logprob);
    if (tokens.length < attempt.maxTokens) logits = await decoder.step(token);
  }
  const text = whisperText(model, tokens);
  const { atMark } = attempt.logits;
  return {
    tokens,
    logprobs,
    text,
    temperature: attempt.temperature,
    averageLogprob: total / (tokens.length + 1),
    compressionRatio: compressionRatio(text),
    noSpeechProbability: Math.exp((atMark[noSpeech] ?? 0) - logSumExp(atMark, 0, atMark.length)),
  };
}
