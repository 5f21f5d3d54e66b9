import type { Modality } from "../core/modality.js";

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

const idParameter = { name: "id", in: "path", required: true, schema: { type: "string" } };

/** OpenAPI 3.1 of the service, generated from the registry. */
export function renderOpenApi(modalities: readonly Modality[], serverUrl: string): Json {
  const polled = modalities.filter(({ endpoint }) => endpoint.delivery === "poll");
  const schemas = Object.fromEntries(
    polled.map((modality) => [modality.endpoint.object, plain(modality.responseSchema())]),
  );
  return {
    openapi: "3.1.0",
    info: { title: "Framemill", version: "1", description: "Media generation service." },
    servers: [{ url: serverUrl }],
    security: [{ key: [] }],
    paths: Object.fromEntries([modelPaths(), ...polled.map(jobPaths)].flatMap(Object.entries)),
    components: {
      securitySchemes: { key: { type: "http", scheme: "bearer" } },
      schemas: { ...schemas, error: errorSchema },
    },
  };
}

function modelPaths(): Json {
  const object = { type: "object" };
  return {
    "/models": { get: operation("List the models", answer("application/json", object)) },
    "/models/{id}": {
      parameters: [idParameter],
      get: operation("Read a model", answer("application/json", object)),
    },
  };
}

function jobPaths(modality: Modality): Json {
  const { object, path, variants } = modality.endpoint;
  const root = path.replace(/^\/v1/, "");
  const reference = { $ref: `#/components/schemas/${object}` };
  const one = answer("application/json", reference);
  const list = { type: "object", properties: { data: { type: "array", items: reference } } };
  const request = plain(modality.requestSchema());
  return {
    [root]: {
      post: {
        ...operation(`Create a ${object} job`, one),
        parameters: [{ name: "Idempotency-Key", in: "header", schema: { type: "string" } }],
        requestBody: {
          required: true,
          content: {
            "application/json": { schema: request },
            "multipart/form-data": { schema: request },
          },
        },
      },
      get: {
        ...operation(`List ${object} jobs`, answer("application/json", list)),
        parameters: [
          query("limit", { type: "integer", minimum: 1, maximum: 100, default: 20 }),
          query("order", { enum: ["asc", "desc"], default: "desc" }),
          query("after", { type: "string" }),
        ],
      },
    },
    [`${root}/{id}`]: {
      parameters: [idParameter],
      get: {
        ...operation(`Read a ${object} job`, one),
        parameters: [query("wait", { type: "integer", minimum: 0, maximum: 60 })],
      },
      delete: operation(`Delete a ${object}`, answer("application/json", { type: "object" })),
    },
    [`${root}/{id}/cancel`]: {
      parameters: [idParameter],
      post: operation(`Cancel a ${object} job`, one),
    },
    [`${root}/{id}/events`]: {
      parameters: [idParameter],
      get: operation("Follow a job", answer("text/event-stream", { type: "string" })),
    },
    [`${root}/{id}/content`]: {
      parameters: [idParameter],
      get: {
        ...operation("Download the file", answer("application/octet-stream", {})),
        parameters: [query("variant", { enum: [object, ...variants], default: object })],
      },
    },
  };
}

function operation(summary: string, ok: Json): Json {
  const failure = answer("application/json", { $ref: "#/components/schemas/error" });
  return { summary, responses: { "200": ok, default: { ...failure, description: "Failure" } } };
}

function answer(mediaType: string, schema: Json): Json {
  return { description: "OK", content: { [mediaType]: { schema } } };
}

function query(name: string, schema: Json): Json {
  return { name, in: "query", schema };
}

/** A schema inside a document has no dialect of its own. */
function plain(schema: unknown): Json {
  const entries = typeof schema === "object" && schema !== null ? Object.entries(schema) : [];
  return Object.fromEntries(entries.filter(([name]) => name !== "$schema"));
}
