import type { Values } from "./catalogue.js";

/** What people call a field, and what they must know of it; the schema speaks to programs. */
interface FieldWords {
  readonly label?: string;
  readonly help?: string;
}

const FIELDS: Readonly<Record<string, FieldWords>> = {
  image: { label: "Picture", help: "PNG, JPEG or WebP." },
  mask: { help: "A PNG of the same size: what is transparent in it is made anew." },
  strength: { help: "How far from the picture, up to 1." },
  fit: { help: "A picture of another shape: whole, with a blurred border, or cut to the frame." },
  file: { label: "Recording", help: "A sound or a clip with sound." },
  messages: { label: "Message" },
  input: { label: "Text", help: "" },
  prompt: { help: "" },
  text: { label: "Format of the text", help: "JSON, as the API takes it." },
  documents: { help: "One a line." },
  n: { label: "How many" },
  seed: { help: "The same seed and request make the same again; drawn where it is left out." },
  max_tokens: { label: "Longest answer", help: "Tokens, about four letters each." },
  max_output_tokens: { label: "Longest answer", help: "Tokens, about four letters each." },
  negative_prompt: { label: "Not to be seen" },
  top_n: { label: "How many to show" },
};

export function wordsOf(name: string): FieldWords {
  return FIELDS[name] ?? {};
}

/** One request to click, and the fields that it fills. */
export interface Example {
  readonly name: string;
  readonly values: Values;
}

const prompts = (...texts: string[]): Example[] =>
  texts.map((prompt) => ({ name: prompt, values: { prompt } }));
const inputs = (...texts: string[]): Example[] =>
  texts.map((input) => ({ name: input, values: { input } }));

const TEXTS = [
  "Hello! Who are you?",
  "What is 2 + 3?",
  "What is the capital of France?",
  "Tell me a story about a fox.",
];

/** By path below `/v1`; the first is what a form begins with. */
const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  "/videos": prompts(
    "a red boat sails across the ocean at sunset",
    "a fox in the snow",
    "a hot air balloon over green hills",
    "rain over a city at night",
  ),
  "/images/generations": prompts(
    "a red boat on a calm sea",
    "a lighthouse on a hill at sunset",
    "a snowy mountain under a full moon",
  ),
  "/music": prompts(
    "a calm piano melody over soft strings",
    "a fast and happy dance with drums and bass",
    "a slow waltz in a minor key",
  ),
  "/audio/speech": inputs(
    "The red boat leaves the harbour at noon.",
    "Good morning! How did you sleep?",
    "One, two, three, four, five.",
  ),
  "/chat/completions": TEXTS.map((messages) => ({ name: messages, values: { messages } })),
  "/completions": prompts("Once upon a time", "The capital of France is", "A violin is"),
  "/responses": inputs(...TEXTS),
  "/embeddings": inputs(
    "a red boat on a calm lake",
    "a bowl of soup",
    "The night train to Vienna leaves at ten.",
  ),
  "/rerank": [
    {
      name: "a boat",
      values: { query: "a boat", documents: "a red boat on a lake\na bowl of soup\na ship at sea" },
    },
    {
      name: "something warm to eat",
      values: {
        query: "something warm to eat",
        documents: "a bowl of hot soup\na cold glass of water\na wooden chair",
      },
    },
  ],
  "/moderations": inputs(
    "a red boat on a calm lake",
    "I hate you, and I will hurt you",
    "How do I bake bread?",
  ),
};

export function examplesOf(path: string): readonly Example[] {
  return EXAMPLES[path.replace(/^\/v1/, "")] ?? [];
}

/** Lengths that a person wants to wait for: the API's own examples are the smallest requests. */
const LENGTHS: Readonly<Record<string, Values>> = {
  "/v1/chat/completions": { max_tokens: "128" },
  "/v1/completions": { max_tokens: "128" },
  "/v1/responses": { max_output_tokens: "128" },
  "/v1/music": { seconds: "10" },
};

export function lengthsOf(path: string): Values {
  return LENGTHS[path] ?? {};
}
