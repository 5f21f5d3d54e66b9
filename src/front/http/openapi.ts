import { isPolled, type Modality } from "../../core/modality.js";

type Json = Readonly<Record<string, unknown>>;

const errorSchema = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["message", "type", "param", "code"],
      properties: {
        message: { type: "string" },
        type: { type: "string" },
        param: { type: ["string", "null"] },
        code: { type: ["string", "null"] },
      },
    },
  },
};

const webhook = { webhook_url: { type: "string", format: "uri" } };
const idParameter = { name: "id", in: "path", required: true, schema: { type: "string" } };

/** OpenAPI 3.1 of the service, generated from the registry. */
export function renderOpenApi(modalities: readonly Modality[], serverUrl: string): Json {
  const schemas = Object.fromEntries(
    modalities.map((modality) => [schemaName(modality), plain(modality.responseSchema?.())]),
  );
  const pathsOf = (modality: Modality) =>
    isPolled(modality) ? jobPaths(modality) : replyPaths(modality);
  return {
    openapi: "3.1.0",
    info: { title: "Framemill", version: "1", description: "Media and text generation service." },
    servers: [{ url: serverUrl }],
    security: [{ key: [] }],
    paths: Object.fromEntries([commonPaths(), ...modalities.map(pathsOf)].flatMap(Object.entries)),
    components: {
      securitySchemes: { key: { type: "http", scheme: "bearer" } },
      schemas: { ...schemas, error: errorSchema },
    },
  };
}

function commonPaths(): Json {
  return {
    "/models": { get: operation("List the models", OBJECT) },
    "/models/{id}": ofId({ get: operation("Read a model", OBJECT) }),
    "/charges/{id}": ofId({ get: operation("Read what a job has cost", OBJECT) }),
  };
}

function schemaName(modality: Modality): string {
  return isPolled(modality) ? modality.endpoint.object : modality.name;
}

function requestBody(modality: Modality): Json {
  const own = plain(modality.requestSchema());
  const schema = isPolled(modality)
    ? { ...own, properties: { ...propertiesOf(own), ...webhook } }
    : own;
  return {
    required: true,
    content: {
      "application/json": { schema, example: describable(modality.example()) },
      "multipart/form-data": { schema },
    },
  };
}

function propertiesOf({ properties }: Json): object {
  return typeof properties === "object" && properties !== null ? properties : {};
}

/** Files have no place in a document. */
function describable(example: Json): Json {
  const fields = Object.entries(example).filter(
    ([, value]) => !(typeof value === "object" && value !== null && "bytes" in value),
  );
  return Object.fromEntries(fields);
}

function replyPaths(modality: Modality): Json {
  const { path, aliases = [], isResource = false, mediaTypes = [] } = modality.endpoint;
  const reference = { $ref: `#/components/schemas/${schemaName(modality)}` };
  const one = answer("application/json", reference);
  const others = mediaTypes.map((mediaType) => [mediaType, { schema: { type: "string" } }]);
  const ok = { ...one, content: { ...one.content, ...Object.fromEntries(others) } };
  const post = {
    post: { ...operation(`Create: ${modality.name}`, ok), requestBody: requestBody(modality) },
  };
  // Paths are below the server's `/v1`; an alias elsewhere is named by its full path.
  const roots = [path, ...aliases].map((url) => url.replace(/^\/v1/, ""));
  const paths = Object.fromEntries(roots.map((root) => [root, post]));
  if (!isResource) return paths;
  const root = roots[0] ?? "";
  return { ...paths, ...oneJobPaths(root, modality.name, one) };
}

function oneJobPaths(root: string, object: string, one: Json): Json {
  const wait = query("wait", { type: "integer", minimum: 0, maximum: 60 });
  return {
    [`${root}/{id}`]: ofId({
      get: operation(`Read a ${object} job`, one, [wait]),
      delete: operation(`Delete a ${object}`, OBJECT),
    }),
    [`${root}/{id}/cancel`]: ofId({ post: operation(`Cancel a ${object} job`, one) }),
  };
}

function jobPaths(modality: Modality): Json {
  const { object, path, variants, preview } = modality.endpoint;
  const root = path.replace(/^\/v1/, "");
  const reference = { $ref: `#/components/schemas/${schemaName(modality)}` };
  const one = answer("application/json", reference);
  const list = { type: "object", properties: { data: { type: "array", items: reference } } };
  const variant = query("variant", { enum: [object, ...variants], default: object });
  return {
    [root]: {
      post: {
        ...operation(`Create a ${object} job`, one, [
          { name: "Idempotency-Key", in: "header", schema: { type: "string" } },
        ]),
        requestBody: requestBody(modality),
      },
      get: operation(`List ${object} jobs`, answer("application/json", list), [
        query("limit", { type: "integer", minimum: 1, maximum: 100, default: 20 }),
        query("order", { enum: ["asc", "desc"], default: "desc" }),
        query("after", { type: "string" }),
      ]),
    },
    ...oneJobPaths(root, object, one),
    [`${root}/{id}/events`]: ofId({
      get: operation("Follow a job", answer("text/event-stream", { type: "string" })),
    }),
    [`${root}/{id}/content`]: ofId({
      get: operation("Download the file", answer("application/octet-stream", {}), [variant]),
    }),
    [`${root}/{id}/link`]: ofId({
      get: operation("Get an address of the file that needs no key", OBJECT, [variant]),
    }),
    ...(preview !== undefined && {
      [`${root}/{id}/preview`]: ofId({
        get: operation("See what is made so far", answer("image/webp", {})),
      }),
    }),
  };
}

function ofId(methods: Json): Json {
  return { parameters: [idParameter], ...methods };
}

function operation(summary: string, ok: Json, parameters: readonly Json[] = []): Json {
  const failure = answer("application/json", { $ref: "#/components/schemas/error" });
  return {
    summary,
    responses: { "200": ok, default: { ...failure, description: "Failure" } },
    ...(parameters.length > 0 && { parameters }),
  };
}

function answer(mediaType: string, schema: Json) {
  return { description: "OK", content: { [mediaType]: { schema } } };
}

const OBJECT = answer("application/json", { type: "object" });

function query(name: string, schema: Json): Json {
  return { name, in: "query", schema };
}

/** A schema inside a document has no dialect of its own. */
function plain(schema: unknown): Json {
  const entries = typeof schema === "object" && schema !== null ? Object.entries(schema) : [];
  return Object.fromEntries(entries.filter(([name]) => name !== "$schema"));
}
