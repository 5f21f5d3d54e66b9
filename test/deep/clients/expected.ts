import { expect } from "vitest";

const NAOMI = { name: "Naomi", age: 31 };
const SECOND_TURN = "Your name is Naomi.";
const OSLO = "Oslo is the capital of Norway.";
const SUNNY = "It is 21 degrees and sunny in Paris.";
const CALL = [{ city: "Paris" }];
/** Its own voice is read back. */
const HEARD: unknown = expect.stringMatching(/boat sails across (the )?ocean/);

/** A class, its code, and the code and the parameter that the service gave. */
const OPENAI_ERRORS = [
  ["AuthenticationError", "invalid_api_key"],
  ["NotFoundError", "model_not_found"],
  ["BadRequestError", "invalid_value"],
  ["RateLimitError", "insufficient_quota"],
];

/** What each interface of an agents' framework comes to. */
const OPENAI_AGENT = {
  "tool loop": [["tool_call_item", "tool_call_output_item", "message_output_item"], SUNNY],
  structured: NAOMI,
  session: SECOND_TURN,
  stream: [OSLO, true],
  usage: 2,
};
const PYDANTIC_AGENT = {
  "tool loop": [SUNNY, 1],
  "second turn": SECOND_TURN,
  "native output": NAOMI,
  "tool output": 31,
  stream: [OSLO, true],
};
const AI_SDK_MODEL = {
  "second turn": SECOND_TURN,
  "tool loop": [SUNNY, 2, "stop"],
  "turn after tools": true,
  stream: [OSLO, true],
  "streamed tool loop": SUNNY,
  object: NAOMI,
};

/** The same facts under each of some names. */
function each(names: readonly string[], facts: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(
    names.flatMap((name) =>
      Object.entries(facts).map(([fact, value]) => [`${name}: ${fact}`, value]),
    ),
  );
}

/** Answered, failed, tokens of each answer. */
const ALL_OF_4 = [4, 0, 12];
/** Whether answered, failed, tokens of each answer. */
const ALL_ANSWERED = [true, 0, 12];

/** What the program of each client prints, version aside. */
export const EXPECTED: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "ai-sdk": {
    ...each(["responses", "chat", "compatible"], AI_SDK_MODEL),
    record: "object",
    "text completion": true,
    "streamed completion": true,
    embeddings: [256, 256],
    "rerank of objects": [1],
    errors: [
      ["AI_APICallError", 401, "invalid_api_key"],
      ["AI_APICallError", 404, "model_not_found"],
      ["AI_APICallError", 400, "invalid_value"],
      ["AI_APICallError", 429, "insufficient_quota"],
    ],
  },
  aiperf: {
    chat: ALL_OF_4,
    "chat in turns": ALL_OF_4,
    // It counts the tokens of these by itself, from their text.
    responses: [4, 0, expect.closeTo(12, 0)],
    completions: ALL_OF_4,
    embeddings: [4, 0],
    rankings: [4, 0],
    images: [2, 0],
    videos: [1, 0],
    transcriptions: [2, 0],
  },
  cohere: {
    v2: [1, 2, true, 1],
    "cut documents": 1,
    v1: [1, "A red boat sails home."],
    "rank fields": 1,
    "a base with /v1": 1,
    async: [1, 1, 1, 1],
    errors: [
      ["UnauthorizedError", 401, "invalid_api_key"],
      ["NotFoundError", 404, "model_not_found"],
      ["BadRequestError", 400, "invalid_value"],
      ["TooManyRequestsError", 429, "insufficient_quota"],
    ],
  },
  guidellm: {
    chat: ALL_ANSWERED,
    "chat in turns": ALL_ANSWERED,
    responses: ALL_ANSWERED,
    completions: ALL_ANSWERED,
    embeddings: [true, 0],
  },
  instructor: {
    "by schema": NAOMI,
    "strict tools": 31,
    tools: 31,
    "responses' tools": 31,
    "with completion": ["Naomi", true],
    "in part": [true, NAOMI],
    errors: OPENAI_ERRORS.map(([name]) => ["InstructorRetryException", name]),
  },
  "langchain-cohere": {
    compress_documents: ["A red boat sails home.", 2, true],
    rerank: [2, 1],
    error: "NotFoundError",
  },
  "langchain-openai": {
    "second turn": SECOND_TURN,
    "tool loop": [CALL, SUNNY],
    stream: [OSLO, true],
    structured: NAOMI,
    "structured by a call": 31,
    batch: [OSLO, OSLO],
    "second response": SECOND_TURN,
    "second response by id": SECOND_TURN,
    "responses' tool loop": [CALL, SUNNY],
    "streamed response": OSLO,
    "structured response": NAOMI,
    "text completion": true,
    embeddings: [256, true],
    errors: [
      ["OpenAIAuthenticationError", "invalid_api_key"],
      ["OpenAIModelNotFoundError", "model_not_found"],
      ["OpenAIInvalidRequestError", "invalid_value"],
      ["OpenAIRateLimitError", "insufficient_quota"],
    ],
  },
  litellm: {
    "second turn": SECOND_TURN,
    stream: [OSLO, true, true],
    "tool loop": ["get_weather", { city: "Paris" }, SUNNY],
    structured: NAOMI,
    "second response": SECOND_TURN,
    "text completion": true,
    embedding: [256, 256],
    rerank: 1,
    moderation: true,
    image: "iVBOR",
    speech: "WAVE",
    transcription: HEARD,
    video: ["completed", "4", "ftyp"],
    errors: [
      "AuthenticationError",
      "NotFoundError",
      "BadRequestError",
      "ContextWindowExceededError",
      "RateLimitError",
    ],
    fallback: "service-chat-1",
  },
  "llama-index": {
    "second turn": SECOND_TURN,
    stream: OSLO,
    complete: OSLO,
    "tool loop": ["get_weather", { city: "Paris" }, SUNNY],
    structured: NAOMI,
    "text completion": [true, true],
    index: [256, "Soup is best when it is hot."],
    errors: OPENAI_ERRORS,
  },
  "openai-agents": {
    ...each(["responses", "chat"], OPENAI_AGENT),
    "previous response": SECOND_TURN,
    errors: OPENAI_ERRORS.filter(([name]) => name !== "BadRequestError"),
  },
  "openai-node": {
    "second turn": SECOND_TURN,
    stream: [OSLO, true, true],
    parse: NAOMI,
    "tool loop": SUNNY,
    "streamed tool loop": [SUNNY, [...CALL, ...CALL]],
    completions: [true, true],
    "second response": SECOND_TURN,
    "streamed response": [true, OSLO],
    "parsed response": NAOMI,
    "response's tool": ['{"city":"Paris"}', SUNNY],
    "input items": ["My name is Naomi."],
    background: ["queued", "completed"],
    "replayed response": "response.completed",
    embeddings: [256, 256],
    moderations: [false, false],
    image: "WEBP",
    "partial images": ["image_generation.partial_image", "image_generation.completed"],
    speech: "WAVE",
    "streamed transcription": HEARD,
    video: ["completed", "4", "ftyp", true],
    errors: [
      ["AuthenticationError", "invalid_api_key", null, "string"],
      ["NotFoundError", "model_not_found", "model", "string"],
      ["BadRequestError", "invalid_value", "temperature", "string"],
      ["BadRequestError", "context_length_exceeded", "messages", "string"],
      ["RateLimitError", "insufficient_quota", null, "string"],
      ["NotFoundError", "video_not_found", "id", "string"],
    ],
  },
  "openai-python": {
    "second turn": SECOND_TURN,
    alias: "service-chat-1",
    stream: [true, true],
    "stream's usage": true,
    "n and logprobs": [2, [2, 2, 2, 2]],
    stop: "Oslo",
    parse: NAOMI,
    "tool call": ["get_weather", "Paris"],
    "tool's answer": SUNNY,
    completions: [[true, true], "text_completion"],
    "streamed completion": true,
    "second response": SECOND_TURN,
    "response's events": ["response.created", "response.completed", true],
    "streamed response": OSLO,
    "parsed response": NAOMI,
    "response's tool": [{ city: "Paris" }, SUNNY],
    "retrieved response": true,
    "input items": ["My name is Naomi."],
    background: ["queued", "completed", true],
    "replayed response": "response.completed",
    embeddings: [
      [256, 256],
      [64, 64],
    ],
    moderations: [false, true],
    image: "PNG",
    "partial images": ["image_generation.partial_image", "image_generation.completed"],
    speech: "WAVE",
    "streamed speech": true,
    transcription: [HEARD, true],
    video: ["completed", "4", "ftyp", true, true],
    models: true,
    errors: [
      ["AuthenticationError", "invalid_api_key", null, true],
      ["NotFoundError", "model_not_found", "model", true],
      ["BadRequestError", "invalid_value", "temperature", true],
      ["BadRequestError", "context_length_exceeded", "messages", true],
      ["RateLimitError", "insufficient_quota", null, true],
      ["NotFoundError", "video_not_found", "id", true],
    ],
  },
  "pydantic-ai": {
    ...each(["chat", "responses"], PYDANTIC_AGENT),
    errors: [
      [401, "invalid_api_key"],
      [404, "model_not_found"],
      [400, "invalid_value"],
      [429, "insufficient_quota"],
    ],
  },
  "vllm-bench": {
    openai: [true, 12, true],
    "openai-chat": [true, 12, true],
    "openai-embeddings": [1, true],
    "vllm-rerank": [1, true],
  },
  "vllm-omni-bench": {
    videos: ["completed", 4, "1280x720"],
    "videos from a picture": ["completed", 4, "1280x720"],
    images: "PNG",
  },
};
