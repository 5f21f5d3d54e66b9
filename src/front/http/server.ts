import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import cors from "@fastify/cors";
import multipart from "@fastify/multipart";
import fastify from "fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "pino";
import { JobError, reasonOf } from "../../core/errors.js";
import { traceFields, type Tracer, isTraceparent, UNTRACED } from "../../core/tracing.js";
import { acceptJson, checkBody, MAX_BODY_BYTES } from "./bodies.js";
import { renderError, toRequestError } from "./errors.js";
import type { Allowance, Allowances, Authenticate, Limits } from "./limits.js";
import { acceptForms, MULTIPART_LIMITS } from "./multipart.js";
import { traceparentOf } from "./request-state.js";

export interface AnsweredRequest {
  readonly method: string;
  /** As it was declared, with its parameters' names. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
}

export interface ServerOptions {
  readonly authenticate: Authenticate;
  /** Addresses of proxies whose word on a caller's own counts. */
  readonly trustProxy: readonly string[] | undefined;
  readonly limits: Limits;
  /** Origins whose pages may read the answers; empty = none. */
  readonly corsOrigins: readonly string[];
  /** Told to callers whose project is not known (yet). */
  readonly defaultAllowances: Allowances;
  readonly observeRequest: (request: AnsweredRequest) => void;
  readonly tracer: Tracer;
  readonly log: Logger;
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer };
  /** Routes that need a key. */
  readonly addRoutes: (app: FastifyInstance) => void;
  /** Routes for operators and tools, without a key. */
  readonly addOpenRoutes: (app: FastifyInstance) => void;
  readonly randomBytes: (byteLength: number) => Uint8Array;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

const HEADERS_MS = 10_000;
const REQUEST_MS = 30_000;
const CHECK_MS = 2_000;
const MAX_ID_LENGTH = 200;
const JSON_TYPE = "application/json; charset=utf-8";

/** The HTTP side without its address: the same headers and the same error body on every answer. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const app = createApp(options);
  const known = collectRoutes(app);
  addAnswerHooks(app, options);
  const refuse = ({ url, method }: FastifyRequest, reply: FastifyReply): JobError => {
    const methods = known(url);
    if (methods.length === 0) return new JobError("not_found", `nothing is at ${pathOf(url)}`);
    reply.header("allow", methods.join(", "));
    return new JobError("method_not_allowed", `${method} is not among ${methods.join(", ")}`);
  };
  // Where nothing is served, it is not the body's fault.
  app.setErrorHandler(async (error, request, reply) =>
    sendError(options, request.is404 ? refuse(request, reply) : error, request, reply),
  );
  app.setNotFoundHandler(async (request, reply) => {
    throw refuse(request, reply);
  });
  acceptJson(app);
  acceptForms(app);
  app.addHook("preValidation", async ({ params, query }) => {
    checkBody(params);
    checkBody(query);
  });
  await app.register(multipart, { limits: MULTIPART_LIMITS });
  await allowOrigins(app, options.corsOrigins);
  options.addOpenRoutes(app);
  await app.register(async (guarded) => {
    traceRequests(guarded, options.tracer);
    guarded.addHook("onRequest", async (request) => admitCaller(options, request));
    options.addRoutes(guarded);
  });
  return app;
}

/** Headers of an answer that scripts of another origin may read. */
const EXPOSED_HEADERS = [
  "x-request-id",
  "x-job-id",
  "x-ignored-parameters",
  "x-model-notes",
  "openai-processing-ms",
  "retry-after",
  "x-should-retry",
  ...["requests", "tokens"].flatMap((name) =>
    Object.keys(allowanceHeaders(name, { limit: 0, remaining: 0, resetMs: 0 })),
  ),
];
const PREFLIGHT_SECONDS = 600;

/** Lets pages of these origins call the API and read its files: with a key in their headers, not by cookies. */
async function allowOrigins(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  const origin = origins.includes("*") ? "*" : [...origins];
  await app.register(cors, {
    delegator: ({ url }, done) =>
      done(null, {
        origin: /^\/+(v\d|files|openapi\.json)\b/.test(url) && origin,
        methods: ["GET", "HEAD", "POST", "DELETE"],
        exposedHeaders: EXPOSED_HEADERS,
        maxAge: PREFLIGHT_SECONDS,
      }),
  });
}

function createApp(options: ServerOptions): FastifyInstance {
  const { tls, trustProxy } = options;
  const http = {
    headersTimeout: HEADERS_MS,
    connectionsCheckingInterval: CHECK_MS,
    requireHostHeader: false,
  };
  const common = {
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: REQUEST_MS,
    ...(trustProxy !== undefined && { trustProxy: [...trustProxy] }),
    routerOptions: {
      maxParamLength: MAX_ID_LENGTH,
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
    },
    // A base address that ends in `/v1` before a path that has its own, as Cohere's clients join them.
    rewriteUrl: ({ url = "/" }: IncomingMessage) => url.replace(/^\/v1(?=\/v\d\/)/, ""),
    genReqId: () => newRequestId(options),
    clientErrorHandler: (error: Error & { code?: string }, socket: Socket) =>
      answerMalformed(options, error, socket),
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      request.allowances = options.defaultAllowances;
      reply.headers(answerHeaders({ ...factsOf(request), elapsedMs: 0 }));
      sendError(options, error, request, reply);
    },
  } as const;
  // The instances differ by their server's type only, which nothing here depends on.
  // oxlint-disable typescript/no-unsafe-type-assertion
  const app =
    tls === undefined
      ? fastify({ ...common, http })
      : (fastify({ ...common, https: { ...http, ...tls } }) as unknown as FastifyInstance);
  // oxlint-enable typescript/no-unsafe-type-assertion
  app.server.on("checkExpectation", (_request: IncomingMessage, response: ServerResponse) => {
    const { body } = renderError(new JobError("invalid_value", "Expect is not supported"));
    response.writeHead(417, unroutedHeaders(options)).end(JSON.stringify(body));
  });
  return app;
}

/** Which methods a path that was not found would take; empty for an unknown path. */
function collectRoutes(app: FastifyInstance): (url: string) => string[] {
  const routes: { readonly pattern: RegExp; readonly methods: readonly string[] }[] = [];
  app.addHook("onRoute", ({ url, method }) => {
    const source = url.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/:\w+/g, "[^/]+");
    routes.push({ pattern: new RegExp(`^${source}$`), methods: [method].flat() });
  });
  return (url) => {
    const path = routedPathOf(url);
    const methods = routes.filter(({ pattern }) => pattern.test(path)).flatMap((it) => it.methods);
    return [...new Set(methods)].toSorted();
  };
}

function addAnswerHooks(
  app: FastifyInstance,
  { defaultAllowances, observeRequest, log, now }: ServerOptions,
) {
  app.decorateRequest("caller", null);
  app.decorateRequest("startedAtMs", 0);
  app.decorateRequest("span", null);
  app.addHook("onRequest", async (request) => {
    request.startedAtMs = now();
    request.allowances = defaultAllowances;
    request.ignoredParameters = [];
  });
  app.addHook("onSend", async (request, reply) => {
    reply.headers(answerHeaders({ ...factsOf(request), elapsedMs: now() - request.startedAtMs }));
    const { ignoredParameters: ignored } = request;
    if (ignored.length > 0) reply.header("x-ignored-parameters", ignored.join(", "));
  });
  app.addHook("onResponse", async (request, reply) => {
    const route = request.routeOptions.url ?? "unknown";
    const elapsedMs = now() - request.startedAtMs;
    const { id: requestId, method } = request;
    const status = reply.statusCode;
    observeRequest({ method, route, status, seconds: elapsedMs / 1_000 });
    // Neither headers nor bodies nor the query: keys and prompts stay out of the log.
    const trace = traceFields(traceparentOf(request) ?? undefined);
    log.debug({ requestId, method, route, status, elapsedMs, ...trace }, "answered");
  });
}

/** Before the body is read: a caller without a key, or over its limit, sends none. */
async function admitCaller(
  { authenticate, limits }: ServerOptions,
  request: FastifyRequest,
): Promise<void> {
  request.caller = await authenticate(request.headers, request.ip);
  const { project } = request.caller;
  const { allowed, ...allowances } = await limits.takeRequest(project);
  request.allowances = allowances;
  const { requests, tokens } = allowances;
  if (!allowed) throw limitReached(`${project.requestsPerMinute} requests`, requests.resetMs);
  // What a request will use is known afterwards only: the one that crosses the limit is served.
  if (request.routeOptions.config.spendsTokens === true && tokens.remaining === 0)
    throw limitReached(`${project.tokensPerMinute} tokens`, tokens.resetMs);
}

function limitReached(limit: string, resetMs: number): JobError {
  const message = `Rate limit reached: ${limit} a minute for the project.`;
  return new JobError("rate_limit_exceeded", message, { retryAfterSeconds: resetMs / 1_000 });
}

function sendError(
  { log }: ServerOptions,
  thrown: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const error = toRequestError(thrown);
  const { status, headers, body } = renderError(error);
  const trace = traceFields(traceparentOf(request) ?? undefined);
  if (status === 500)
    log.error({ requestId: request.id, ...trace, ...describe(error) }, "request failed");
  else if (status === 503)
    log.warn({ requestId: request.id, ...trace, reason: reasonOf(error) }, "request not served");
  return reply.code(status).headers(headers).type(JSON_TYPE).send(body);
}

/** Database errors carry the values of the statement in other fields. */
function describe({ cause, message, stack }: Error) {
  const { code } = (cause ?? {}) as { readonly code?: unknown };
  return { code, message, stack: cause instanceof Error ? cause.stack : stack };
}

/** What is not HTTP never becomes a request: the answer is written to the socket. */
function answerMalformed(
  options: ServerOptions,
  { code }: { readonly code?: string },
  socket: Socket,
): void {
  if (code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const isLate = code === "ERR_HTTP_REQUEST_TIMEOUT";
  const isLong = code === "HPE_HEADER_OVERFLOW";
  const error = isLate
    ? new JobError("request_timeout", "the request did not arrive in time")
    : new JobError(
        "invalid_value",
        isLong ? "the header is too long" : "the request is not HTTP/1.1",
      );
  const status = isLong ? 431 : error.httpStatus;
  const text = JSON.stringify(renderError(error).body);
  const headers = {
    ...unroutedHeaders(options),
    "content-length": String(Buffer.byteLength(text)),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${text}`);
}

/** Of an error that is answered before any route is known. */
function unroutedHeaders(options: ServerOptions): Record<string, string> {
  const { defaultAllowances: allowances } = options;
  const facts = { requestId: newRequestId(options), elapsedMs: 0, allowances };
  return { ...answerHeaders(facts), "content-type": JSON_TYPE };
}

function newRequestId({ randomBytes }: ServerOptions): string {
  return `req_${Buffer.from(randomBytes(16)).toString("hex")}`;
}

function factsOf({ id, allowances }: FastifyRequest) {
  return { requestId: id, allowances };
}

function pathOf(url: string): string {
  return url.split("?", 1)[0] ?? url;
}

/** As the router reads it. */
function routedPathOf(url: string): string {
  return pathOf(url)
    .replaceAll(/\/+/g, "/")
    .replace(/(?<=.)\/$/, "");
}

interface AnswerFacts {
  readonly requestId: string;
  readonly elapsedMs: number;
  readonly allowances: Allowances;
}

/** The headers of every answer, errors and event streams included. */
function answerHeaders(facts: AnswerFacts): Record<string, string> {
  const { requests, tokens } = facts.allowances;
  return {
    "x-request-id": facts.requestId,
    "openai-processing-ms": String(Math.round(facts.elapsedMs)),
    "x-content-type-options": "nosniff",
    ...allowanceHeaders("requests", requests),
    ...allowanceHeaders("tokens", tokens),
  };
}

/** `12ms`, `59s`, `6m0s`. */
export function formatDuration(durationMs: number): string {
  if (durationMs < 1_000) return `${Math.round(durationMs)}ms`;
  const seconds = Math.ceil(durationMs / 1_000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

function allowanceHeaders(name: string, allowance: Allowance): Record<string, string> {
  return {
    [`x-ratelimit-limit-${name}`]: String(allowance.limit),
    [`x-ratelimit-remaining-${name}`]: String(allowance.remaining),
    [`x-ratelimit-reset-${name}`]: formatDuration(allowance.resetMs),
  };
}

/**
 * A span for each request to the routes of `app`, below the caller's own where it names one. It knows
 * the route and not the path: what callers write stays out.
 */
function traceRequests(app: FastifyInstance, tracer: Tracer): void {
  if (tracer === UNTRACED) return;
  app.addHook("onRequest", async (request, reply) => {
    const { method, protocol } = request;
    const route = request.routeOptions.url ?? "unknown";
    const header = request.headers["traceparent"];
    const span = tracer.start(`${method} ${route}`, {
      parent: isTraceparent(header) ? header : undefined,
      kind: "server",
      attributes: {
        "http.request.method": method,
        "http.route": route,
        "url.scheme": protocol,
        "framemill.request.id": request.id,
      },
    });
    request.span = span;
    // Also where the caller has gone before the answer.
    reply.raw.once("close", () => {
      const { statusCode: status, writableFinished } = reply.raw;
      span.set({ "http.response.status_code": status });
      if (status >= 500) span.fail(String(status));
      else if (!writableFinished) span.fail("cancelled");
      span.end();
    });
  });
}

/**
 * Connections that never brought a request, as browsers open ahead and clients leave behind: Node takes
 * them for busy and would wait until they time out. The function that comes back hangs them up.
 */
export function watchUnused(app: FastifyInstance): () => void {
  const unused = new Map<string, Socket>();
  app.server.on("connection", (socket: Socket) => {
    const peer = peerOf(socket);
    unused.set(peer, socket);
    socket.once("close", () => unused.delete(peer));
  });
  app.server.on("request", ({ socket }: { socket: Socket }) => unused.delete(peerOf(socket)));
  return () => {
    for (const socket of unused.values()) socket.destroy();
  };
}

/** Over TLS a request's socket is another object than the connection's, with the same addresses. */
function peerOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
