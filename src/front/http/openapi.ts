import { STATUS_CODES } from "node:http";
import { z } from "zod";
import { codesOfStatus } from "../../core/errors.js";
import { type BodyType, isPolled, type Modality } from "../../core/modality.js";
import { SERVICE_TIER_WORDS } from "../../core/service-tier.js";
import {
  chargeObject,
  deletedObject,
  errorBody,
  linkObject,
  listObject,
  modelList,
  modelObject,
} from "./objects.js";

type Json = Readonly<Record<string, unknown>>;

/** What a modality's own endpoints are made with. */
interface Builder {
  readonly components: Components;
  readonly modality: Modality;
  /** Begins the names of its operations and schemas, e.g. `ChatCompletion`. */
  readonly name: string;
  /** What is created, read and deleted, for people, e.g. `chat completion`. */
  readonly words: string;
  /** Path below `/v1`. */
  readonly root: string;
  /** Its object; undefined where no answer is JSON. */
  readonly object: Json | undefined;
}

/** OpenAPI 3.1 of the service, generated from the registry. */
export function renderOpenApi(modalities: readonly Modality[], serverUrl: string): Json {
  const components = createComponents();
  const paths = [
    ...commonPaths(components),
    ...modalities.flatMap((modality) => modalityPaths(createBuilder(components, modality))),
  ];
  return {
    openapi: "3.1.0",
    info: { title: "Framemill", version: "1", description: "Media and text generation service." },
    servers: [{ url: serverUrl }],
    security: [{ key: [] }],
    tags: [...COMMON_TAGS, ...modalities.map(({ name }) => name)].map((name) => ({ name })),
    paths: Object.fromEntries(paths),
    components: {
      securitySchemes: { key: { type: "http", scheme: "bearer" } },
      headers: HEADERS,
      responses: failureResponses(components),
      schemas: components.schemas(),
    },
  };
}

interface Components {
  /** Keeps a schema, and those with a name inside of it, and refers to it: by `name` unless it has one. */
  readonly add: (schema: unknown, name?: string) => Json;
  readonly schemas: () => Json;
}

function createComponents(): Components {
  const schemas = new Map<string, Json>();
  const keep = (name: string, schema: Json): Json => {
    const known = schemas.get(name);
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(schema))
      throw new Error(`two schemas of the OpenAPI document are called ${name}`);
    schemas.set(name, schema);
    return { $ref: `#/components/schemas/${name}` };
  };
  return {
    add(schema, name) {
      const json = schema instanceof z.ZodType ? z.toJSONSchema(schema) : schema;
      const { $schema: _dialect, $defs = {}, ...root } = asJson(withComponentRefs(json));
      for (const [inner, definition] of Object.entries(asJson($defs)))
        keep(inner, asJson(definition));
      return name === undefined || "$ref" in root ? root : keep(name, root);
    },
    schemas: () => Object.fromEntries([...schemas].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** What a schema defines itself is found among the document's components. */
function withComponentRefs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withComponentRefs);
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([name, child]) => [
    name,
    name === "$ref"
      ? String(child).replace("#/$defs/", "#/components/schemas/")
      : withComponentRefs(child),
  ]);
  return Object.fromEntries(fields) as unknown;
}

const COMMON_TAGS = ["models", "charges"];

function commonPaths(components: Components): [path: string, Json][] {
  const get = (
    object: z.ZodType,
    own: Pick<OperationOptions, "operationId" | "tag" | "summary">,
  ) => ({ ...own, responses: { 200: ok("application/json", components.add(object)) } });
  const models = { operationId: "listModels", tag: "models", summary: "List the models" };
  const model = { operationId: "getModel", tag: "models", summary: "Read a model" };
  const charge = { operationId: "getCharge", tag: "charges", summary: "Read what a job has cost" };
  const ofOne = (options: OperationOptions) =>
    ofId({ get: operation({ ...options, failures: [404] }) });
  return [
    ["/models", { get: operation(get(modelList, models)) }],
    ["/models/{id}", ofOne(get(modelObject, model))],
    ["/charges/{id}", ofOne(get(chargeObject, charge))],
  ];
}

function createBuilder(components: Components, modality: Modality): Builder {
  const { object, path } = modality.endpoint;
  const name = pascal(object);
  return {
    components,
    modality,
    name,
    words: object.replaceAll(/[._]/g, " "),
    root: belowServer(path),
    object: modality.responseSchema && components.add(modality.responseSchema(), name),
  };
}

function modalityPaths(builder: Builder): [path: string, Json][] {
  const { modality } = builder;
  if (isPolled(modality)) return jobPaths(builder);
  return [
    ...replyPaths(builder),
    ...(modality.endpoint.isResource ? oneJobPaths(builder) : []),
    ...inputItemPaths(builder),
  ];
}

function inputItemPaths({ components, modality, name, words, root }: Builder) {
  if (modality.inputItems === undefined) return [];
  const item = components.add(modality.inputItems.schema(), `${name}InputItem`);
  const get = operation({
    operationId: `list${name}InputItems`,
    tag: modality.name,
    summary: `List what ${withArticle(words)} was asked`,
    parameters: PAGE,
    responses: { 200: ok("application/json", pageOf(components, item, `${name}InputItemList`)) },
    failures: [404],
  });
  return [[`${root}/{id}/input_items`, ofId({ get })] satisfies [string, Json]];
}

function pageOf(components: Components, item: unknown, name: string) {
  return components.add(z.toJSONSchema(listObject(z.unknown().meta({ ...asJson(item) }))), name);
}

function replyPaths(builder: Builder): [path: string, Json][] {
  const { components, modality, name, root, object } = builder;
  const { aliases = [], mediaTypes = [] } = modality.endpoint;
  const events = modality.eventSchema && components.add(modality.eventSchema(), `${name}Event`);
  const content = {
    ...(object && { "application/json": { schema: object } }),
    ...contentsOf(mediaTypes),
    ...(events && { [EVENTS]: { schema: events } }),
  };
  const answer = {
    description:
      events === undefined ? "OK" : `OK; a stream that fails ends with an event of ErrorBody`,
    headers: { ...ALWAYS, ...headerRefs(["x-job-id", "x-ignored-parameters", "x-model-notes"]) },
    content,
  };
  const post = (operationId: string) => ({ post: creation(builder, operationId, answer) });
  // An alias below another root is found beside the server's own.
  const others = aliases.map((alias): [string, Json] => {
    const version = pascal(alias.split("/")[1] ?? "");
    return [alias, { servers: [{ url: "/" }], ...post(`create${name}${version}`) }];
  });
  return [[root, post(`create${name}`)], ...others];
}

function creation(builder: Builder, operationId: string, answer: Json): Json {
  const { components, modality, name, words } = builder;
  return {
    ...operation({
      operationId,
      tag: modality.name,
      summary: `Create ${withArticle(words)}`,
      parameters: [IDEMPOTENCY_KEY],
      responses: { 200: answer },
      failures: CREATION_FAILURES,
    }),
    requestBody: requestBody(components, modality, name),
  };
}

function requestBody(components: Components, modality: Modality, name: string): Json {
  const { bodyTypes = ["application/json"] } = modality.endpoint;
  const content = bodyTypes.map((bodyType) => {
    const suffix = bodyType === "application/json" ? "Request" : "Form";
    const schema = components.add(requestSchema(modality, bodyType), `${name}${suffix}`);
    return [bodyType, { schema, example: describable(modality.example()) }];
  });
  return { required: true, content: Object.fromEntries(content) };
}

function requestSchema(modality: Modality, bodyType: BodyType): Json {
  const own = asJson(modality.requestSchema(bodyType));
  const properties = {
    ...asJson(own["properties"]),
    ...(isPolled(modality) && WEBHOOK),
    ...WANTED,
  };
  const required = new Set([own["required"]].flat());
  const isForm = bodyType === "multipart/form-data";
  const fields = Object.entries(properties).map(([name, schema]) => [
    name,
    isForm || required.has(name) ? schema : orNull(asJson(schema)),
  ]);
  return { ...own, properties: Object.fromEntries(fields) };
}

const WEBHOOK = { webhook_url: { type: "string", format: "uri", maxLength: 2_048 } };

/** How soon a job is wanted. */
const WANTED = {
  service_tier: {
    enum: [...SERVICE_TIER_WORDS],
    description: "How soon it is wanted, at which price",
  },
  start_deadline: {
    type: "number",
    exclusiveMinimum: 0,
    maximum: 86_400,
    description: "Seconds in which a worker must have begun it; else it fails, free",
  },
};

/** Null is "not given" for every field that may be left out. */
function orNull(schema: Json): Json {
  const { description, anyOf, ...rest } = schema;
  const forms = Array.isArray(anyOf) ? (anyOf as readonly Json[]) : [rest];
  const isAny = Object.keys(rest).length === 0 && anyOf === undefined;
  if (isAny || forms.some(({ type }) => type === "null")) return schema;
  return { ...(description !== undefined && { description }), anyOf: [...forms, { type: "null" }] };
}

/** Files have no place in a document. */
function describable(example: Json): Json {
  const fields = Object.entries(example).filter(
    ([, value]) => !(typeof value === "object" && value !== null && "bytes" in value),
  );
  return Object.fromEntries(fields);
}

function oneJobPaths(builder: Builder): [path: string, Json][] {
  const { components, modality, name, words, root, object } = builder;
  const { object: kind, isResource = false } = modality.endpoint;
  const tag = modality.name;
  const one = ok("application/json", object);
  const events = modality.events && components.add(modality.eventSchema?.(), `${name}Event`);
  const streamed = events && { [EVENTS]: { schema: events } };
  const streaming = [
    query("stream", { type: "boolean", default: false }),
    query("starting_after", { type: "integer", minimum: 0 }),
  ];
  const deleted = components.add(deletedObject(kind), `${name}Deleted`);
  const read = operation({
    operationId: `get${name}`,
    tag,
    summary: `Read ${withArticle(words)}`,
    parameters: [
      query("wait", { type: "integer", minimum: 0, maximum: 60 }),
      ...(events ? streaming : []),
    ],
    responses: { 200: { ...one, content: { ...asJson(one["content"]), ...streamed } } },
    failures: isResource ? [404, 410] : [404],
  });
  const remove = operation({
    operationId: `delete${name}`,
    tag,
    summary: `Delete ${withArticle(words)}`,
    responses: { 200: ok("application/json", deleted) },
    failures: [404],
  });
  const cancel = operation({
    operationId: `cancel${name}`,
    tag,
    summary: `Cancel ${withArticle(words)}`,
    responses: { 200: one },
    failures: isResource ? [404, 410] : [404],
  });
  return [
    [`${root}/{id}`, ofId({ get: read, delete: remove })],
    [`${root}/{id}/cancel`, ofId({ post: cancel })],
  ];
}

function jobPaths(builder: Builder): [path: string, Json][] {
  const { components, modality, name, root, object } = builder;
  const plural = pascal(root.slice(1));
  const one = ok("application/json", object);
  const list = operation({
    operationId: `list${plural}`,
    tag: modality.name,
    summary: `List ${plural.toLowerCase()}`,
    parameters: PAGE,
    responses: { 200: ok("application/json", pageOf(components, object, `${name}List`)) },
  });
  return [
    [root, { post: creation(builder, `create${name}`, one), get: list }],
    ...oneJobPaths(builder),
    ...filePaths(builder),
  ];
}

/** What is followed while it is made, and downloaded afterwards. */
function filePaths({ components, modality, name, words, root, object }: Builder) {
  const { object: kind, variants, preview, isLive, mediaTypes = [] } = modality.endpoint;
  const tag = modality.name;
  const variant = query("variant", { type: "string", enum: [kind, ...variants], default: kind });
  const pictures = variants.length > 0 ? [PICTURE] : [];
  const content = contentsOf([...mediaTypes, ...pictures, ...(isLive ? [HLS_LIST] : [])]);
  const live = isLive ? [query("live", { type: "string", enum: ["1", "hls"] })] : [];
  const wait = query("wait", { type: "integer", minimum: 0, maximum: 60 });
  const file = { description: "OK", headers: { ...ALWAYS, ...headerRefs(FILE_HEADERS) }, content };
  const part = {
    ...file,
    description: "Partial Content",
    headers: { ...file.headers, ...headerRefs(["content-range"]) },
  };
  const failures = [404, 409, 410];
  const get = (path: string, own: Omit<OperationOptions, "tag">): [string, Json] => [
    `${root}/{id}/${path}`,
    ofId({ get: operation({ ...own, tag }) }),
  ];
  const paths = [
    get("events", {
      operationId: `follow${name}`,
      summary: `Follow ${withArticle(words)}: the object at each change`,
      responses: { 200: ok(EVENTS, object) },
      failures: [404],
    }),
    get("content", {
      operationId: `download${name}`,
      summary: `Download ${withArticle(words)}`,
      parameters: [
        variant,
        ...live,
        ...(isLive ? [wait] : []),
        header("Range"),
        header("If-Range"),
        header("If-None-Match"),
      ],
      responses: { 200: file, 206: part, 304: { description: "Not Modified", headers: ALWAYS } },
      failures: [...failures, 416],
    }),
    get("link", {
      operationId: `link${name}`,
      summary: `Get an address of ${withArticle(words)} that needs no key`,
      parameters: [variant, ...live],
      responses: { 200: ok("application/json", components.add(linkObject)) },
      failures,
    }),
  ];
  if (preview === undefined) return paths;
  const picture = { description: "OK", headers: ALWAYS, content: contentsOf([PICTURE]) };
  const nothing = { description: "Nothing to see yet", headers: ALWAYS };
  return [
    ...paths,
    get("preview", {
      operationId: `preview${name}`,
      summary: `See what of ${withArticle(words)} is made so far`,
      responses: { 200: picture, 204: nothing },
      failures,
    }),
  ];
}

const PAGE = [
  query("limit", { type: "integer", minimum: 1, maximum: 100, default: 20 }),
  query("order", { type: "string", enum: ["asc", "desc"], default: "desc" }),
  query("after", { type: "string", minLength: 1 }),
];

const EVENTS = "text/event-stream";
const PICTURE = "image/webp";
const HLS_LIST = "application/vnd.apple.mpegurl";

interface OperationOptions {
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly parameters?: readonly Json[];
  readonly responses: Readonly<Record<number, Json>>;
  /** Statuses beyond those that every operation may answer. */
  readonly failures?: readonly number[];
}

/** What any request may meet, whatever it asks for. */
const ANY_FAILURES = [400, 401, 429, 500, 503];
const CREATION_FAILURES = [404, 408, 409, 413, 415];

function operation(options: OperationOptions): Json {
  const { operationId, tag, summary, parameters = [], responses, failures = [] } = options;
  const statuses = [...ANY_FAILURES, ...failures].toSorted((a, b) => a - b);
  const failed = statuses.map((status) => [
    status,
    { $ref: `#/components/responses/${failureName(status)}` },
  ]);
  return {
    operationId,
    tags: [tag],
    summary,
    ...(parameters.length > 0 && { parameters }),
    responses: { ...responses, ...Object.fromEntries(failed) },
  };
}

const ALL_FAILURES = [...new Set([...ANY_FAILURES, ...CREATION_FAILURES, 410, 416])];

function failureResponses(components: Components): Json {
  const schema = components.add(errorBody);
  const responses = ALL_FAILURES.map((status) => {
    const codes = status < 500 ? codesOfStatus(status) : [];
    const description = [STATUS_CODES[status], codes.join(", ")].filter(Boolean).join(": ");
    const headers = { ...ALWAYS, ...headerRefs(FAILURE_HEADERS[status] ?? []) };
    return [
      failureName(status),
      { description, headers, content: { "application/json": { schema } } },
    ];
  });
  return Object.fromEntries(responses);
}

function failureName(status: number): string {
  return (STATUS_CODES[status] ?? "").replaceAll(/\W/g, "");
}

const count = { schema: { type: "integer", minimum: 0 } };
const text = { schema: { type: "string" } };
const duration = { schema: { type: "string", pattern: String.raw`^(\d+m)?\d+(ms|s)$` } };

/** Of answers; those that stand on every one are required. */
const HEADERS: Record<string, Json> = {
  "x-request-id": { required: true, description: "Names the request in the log", ...text },
  "openai-processing-ms": { required: true, ...count },
  "x-ratelimit-limit-requests": { required: true, ...count },
  "x-ratelimit-limit-tokens": { required: true, ...count },
  "x-ratelimit-remaining-requests": { required: true, ...count },
  "x-ratelimit-remaining-tokens": { required: true, ...count },
  "x-ratelimit-reset-requests": {
    required: true,
    description: "Until it is whole again",
    ...duration,
  },
  "x-ratelimit-reset-tokens": {
    required: true,
    description: "Until it is whole again",
    ...duration,
  },
  "x-job-id": { description: "The job whose answer this is", ...text },
  "x-ignored-parameters": {
    description: "Parameters of the body that are of other servers and change nothing here",
    ...text,
  },
  "x-model-notes": {
    description:
      "What the model did not understand or could not do, beside an answer without fields",
    ...text,
  },
  "www-authenticate": text,
  "x-should-retry": { description: "false where another attempt cannot help", ...text },
  "retry-after": { description: "Seconds to wait", ...count },
  "accept-ranges": { schema: { type: "string", const: "bytes" } },
  "content-disposition": text,
  "content-range": text,
  etag: { description: "Of the bytes; If-Range and If-None-Match take it", ...text },
};

const FAILURE_HEADERS: Readonly<Record<number, readonly string[]>> = {
  401: ["www-authenticate"],
  408: ["x-should-retry"],
  409: ["retry-after", "x-should-retry"],
  429: ["retry-after", "x-should-retry"],
  503: ["retry-after"],
};

const FILE_HEADERS = ["accept-ranges", "content-disposition", "etag"];

function headerRefs(names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const ALWAYS = headerRefs(Object.keys(HEADERS).filter((name) => HEADERS[name]?.["required"]));

function ok(mediaType: string, schema: Json = {}): Json {
  return { description: "OK", headers: ALWAYS, content: { [mediaType]: { schema } } };
}

/** Of what is no JSON: text, or bytes. */
function contentsOf(mediaTypes: readonly string[]): Json {
  const contents = mediaTypes.map((mediaType) => {
    const [type = mediaType] = mediaType.split(";");
    const isText = type.startsWith("text/");
    return [type, { schema: { type: "string", ...(!isText && { format: "binary" }) } }];
  });
  return Object.fromEntries(contents);
}

function ofId(methods: Json): Json {
  return { parameters: [ID], ...methods };
}

const ID = { name: "id", in: "path", required: true, schema: { type: "string", minLength: 1 } };
const IDEMPOTENCY_KEY = header("Idempotency-Key", { pattern: "^[ -~]{0,255}$" });

function header(name: string, limits: Json = {}): Json {
  return { name, in: "header", schema: { type: "string", ...limits } };
}

function query(name: string, schema: Json): Json {
  return { name, in: "query", schema };
}

/** A path of the API without the root that the server's address has. */
function belowServer(path: string): string {
  return path.replace(/^\/v1/, "");
}

function pascal(words: string): string {
  return words
    .split(/[^a-z\d]+/i)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}

function withArticle(words: string): string {
  return `${/^[aeiou]/.test(words) ? "an" : "a"} ${words}`;
}

function asJson(value: unknown): Json {
  return typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value))
    : {};
}
