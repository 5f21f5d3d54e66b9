import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { toJobError } from "#framemill/core/errors.js";
import type { Earlier, Exchange, Modality, ModelInfo, Pipeline } from "#framemill/core/modality.js";
import { exchangeOf } from "./pipeline-exchange.js";

export interface ServedModality {
  // Each modality has its own request and output: the server only passes them on.
  readonly modality: Modality<string, never, never>;
  readonly pipeline: Pipeline<never, never>;
}

/** The least of a front: admits a body, runs the pipeline, and sends the modality's answer. */
export async function serveModalities(
  served: readonly ServedModality[],
  model: ModelInfo,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const kept = new Map<string, Exchange<never, never>>();
  const server = createServer((request, response) => {
    void answer({ served, model, kept }, request, response).catch((thrown: unknown) => {
      const { httpStatus, message, type, param, code } = toJobError(thrown);
      response.writeHead(httpStatus, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message, type, param, code } }));
    });
  });
  await listen(server);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function listen(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
}

interface Front {
  readonly served: readonly ServedModality[];
  readonly model: ModelInfo;
  readonly kept: Map<string, Exchange<never, never>>;
}

async function answer(
  { served, model, kept }: Front,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const found = served.find(({ modality }) => modality.endpoint.path === request.url);
  if (found === undefined) throw new Error(`nothing is served at ${request.url}`);
  const { modality, pipeline } = found;
  const admitted = await modality.admit(JSON.parse(await text(request)), {
    model,
    path: modality.endpoint.path,
    saveInput: () => Promise.reject(new Error("a text has no inputs")),
    findEarlier: (id) => findEarlier(kept, id),
  });
  const abort = new AbortController();
  response.once("close", () => abort.abort(new Error("the client is gone")));
  const exchange = exchangeOf(modality, {
    pipeline,
    model,
    request: admitted,
    signal: abort.signal,
  });
  kept.set(exchange.id, exchange);
  const result = await modality.answer?.(exchange);
  if (result === undefined) throw new Error(`${modality.name} does not answer`);
  if ("json" in result) {
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify(result.json));
    return;
  }
  response.writeHead(200, { "content-type": result.mediaType });
  const { body } = result;
  if (typeof body === "string" || body instanceof Uint8Array) response.write(body);
  else for await (const part of body) response.write(part);
  response.end();
}

async function findEarlier(
  kept: ReadonlyMap<string, Exchange<never, never>>,
  id: string,
): Promise<Earlier | undefined> {
  const exchange = kept.get(id);
  if (exchange === undefined) return undefined;
  return { request: exchange.request, output: (await exchange.finished()).output };
}
