import { callJson } from "../lib/api.js";
import { type Field, resolve, type Schema, toField } from "./schema.js";

/** What `/openapi.json` says of one path. */
interface PathItem {
  readonly post?: {
    readonly summary?: string;
    readonly requestBody?: {
      readonly content?: Readonly<Record<string, { schema?: Schema; example?: Values }>>;
    };
  };
}

interface ApiDescription {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<Record<string, PathItem>>;
}

export interface Model {
  readonly id: string;
  readonly endpoints: readonly string[];
  readonly voices?: readonly string[];
}

/** What a form holds: texts as typed, files as chosen. */
export type Values = Readonly<Record<string, unknown>>;

/** One endpoint that can be tried. */
export interface Endpoint {
  /** With `/v1`. */
  readonly path: string;
  readonly title: string;
  readonly about: string;
  /** Followed as a job, not answered at once. */
  readonly isJob: boolean;
  readonly hasPreview: boolean;
  readonly fields: readonly Field[];
  /** Names of the fields that are shown first. */
  readonly mainNames: ReadonlySet<string>;
  readonly example: Values;
  readonly models: readonly Model[];
  /** Goes on turn by turn: the whole talk is sent again, or the answer before is named. */
  readonly conversation: "messages" | "previous_response_id" | undefined;
}

const TITLES: Readonly<Record<string, readonly [title: string, about: string]>> = {
  "/videos": ["Video", "A clip with sound from a prompt, or from a prompt and a picture."],
  "/images/generations": ["Images", "Pictures from a prompt, shown while they are made."],
  "/images/edits": ["Edits", "A picture made from another one and a prompt."],
  "/music": ["Music", "A piece of music from a prompt."],
  "/audio/speech": ["Speech", "Text read aloud."],
  "/audio/transcriptions": ["Transcription", "Text from a recording."],
  "/chat/completions": ["Chat", "An answer to a message, as it is written."],
  "/completions": ["Completions", "A text that goes on from a prompt, without a conversation."],
  "/responses": ["Responses", "An answer that the service keeps, to be gone on from."],
  "/embeddings": ["Embeddings", "A text as a vector."],
  "/rerank": ["Rerank", "Documents in the order in which they answer a query."],
  "/moderations": ["Moderation", "Whether a text is harmful, and how."],
};
const CONVERSATIONS = ["messages", "previous_response_id"] as const;
const ORDER = Object.keys(TITLES);

/** Shown first, in this order. */
const MAIN = [
  "model",
  "file",
  "messages",
  "query",
  "input",
  "documents",
  "prompt",
  "image",
  "mask",
  "strength",
  "voice",
  "quality",
  "seconds",
];
/** Other names of fields that are there, what only programs need, and what is taken and not used. */
const LEFT_OUT = new Set([
  ..."tier input_reference resolution webhook_url user safety_identifier store".split(" "),
  ..."stream_options stream_format include background priority metadata".split(" "),
]);

/** The endpoints of the front, as it describes itself; models are those that the key may use. */
export async function loadCatalogue(key: string): Promise<Endpoint[]> {
  const [description, models] = await Promise.all([
    callJson<ApiDescription>("/openapi.json", { key }),
    key === "" ? { data: [] } : callJson<{ data: readonly Model[] }>("/v1/models", { key }),
  ]);
  return readCatalogue(description, models.data);
}

/** One endpoint for each path that takes a body; aliases below other roots are left out. */
export function readCatalogue(
  { paths, components }: ApiDescription,
  models: readonly Model[],
): Endpoint[] {
  const found = Object.entries(paths).flatMap(([root, { post }]) => {
    const content = post?.requestBody?.content ?? {};
    const [{ schema, example = {} } = {}] = Object.values(content);
    if (schema === undefined || root.includes("{") || root.startsWith("/v2/")) return [];
    const fields = resolve(schema, components.schemas);
    return [{ root, summary: post?.summary ?? root, schema: fields, example }];
  });
  const placeOf = (root: string) => (ORDER.indexOf(root) + ORDER.length + 1) % (ORDER.length + 1);
  return found
    .toSorted((a, b) => placeOf(a.root) - placeOf(b.root))
    .map(({ root, summary, schema, example }) => {
      const [title, about] = TITLES[root] ?? [root.slice(1), summary];
      const all = fieldsOf(schema);
      const names = new Set(all.map(nameOf));
      const conversation = CONVERSATIONS.find((name) => names.has(name));
      const fields = all.filter(({ name }) => name !== "previous_response_id");
      return {
        path: `/v1${root}`,
        title,
        about,
        isJob: paths[`${root}/{id}/events`] !== undefined,
        hasPreview: paths[`${root}/{id}/preview`] !== undefined,
        fields,
        mainNames: new Set(
          fields.filter(({ name, isRequired }) => isRequired || MAIN.includes(name)).map(nameOf),
        ),
        example,
        conversation,
        models: models.filter(({ endpoints }) => endpoints.includes(`/v1${root}`)),
      };
    });
}

function fieldsOf({ properties = {}, required = [] }: Schema): Field[] {
  const rank = (name: string) => (MAIN.includes(name) ? MAIN.indexOf(name) : MAIN.length);
  return Object.entries(properties)
    .filter(([name]) => !LEFT_OUT.has(name))
    .flatMap(([name, schema]) => toField(name, schema, required.includes(name)) ?? [])
    .toSorted((a, b) => rank(a.name) - rank(b.name));
}

function nameOf({ name }: Field): string {
  return name;
}
