import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { FastifyInstance, RouteHandlerMethod } from "fastify";
import fastifyStatic from "@fastify/static";
import type { Logger } from "pino";
import { JobError } from "../../core/errors.js";
import type { Modality } from "../../core/modality.js";
import { renderError } from "./errors.js";
import type { FindObstacles, PartStates } from "./health.js";
import { renderOpenApi } from "./openapi.js";

/** A page of Prometheus metrics. */
export interface MetricsPage {
  readonly render: () => Promise<string>;
  readonly contentType: string;
}

export interface OpenRoutesOptions {
  readonly modalities: readonly Modality[];
  /** Without it `/metrics` is served on a port of its own, or not at all. */
  readonly metrics?: MetricsPage;
  readonly findObstacles: FindObstacles;
  readonly partStates: () => PartStates;
}

/** Health, metrics and the API's description: for probes and tools, without a key. */
export function addOpenRoutes(app: FastifyInstance, options: OpenRoutesOptions): void {
  const { modalities, metrics, findObstacles, partStates } = options;
  app.get("/healthz", async () => ({ status: "ok" }));
  const readiness: RouteHandlerMethod = async (_request, reply) => {
    const reasons = await findObstacles();
    if (reasons.length === 0) return { status: "ready", parts: partStates() };
    const error = new JobError("service_unavailable", `not ready: ${reasons.join("; ")}`);
    const { status, headers, body } = renderError(error);
    return await reply
      .code(status)
      .headers(headers)
      .send({ ...body, reasons, parts: partStates() });
  };
  app.get("/readyz", readiness);
  // Where benchmarks of inference servers look before they begin.
  app.get("/health", readiness);
  if (metrics !== undefined)
    app.get("/metrics", async (_request, reply) => {
      reply.type(metrics.contentType);
      return await metrics.render();
    });
  let document: string | undefined;
  app.get("/openapi.json", async (_request, reply) => {
    document ??= JSON.stringify(renderOpenApi(modalities, "/v1"));
    return await reply.type("application/json").send(document);
  });
}

/** What `scripts/build-assets.mjs` makes of `web/`, beside the compiled code. */
const folder = fileURLToPath(new URL("../../web/", import.meta.url));

/** Own scripts, styles and answers only: nothing inline, nothing from elsewhere, in nobody's frame. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

const PAGE_HEADERS = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "permissions-policy": "camera=(), microphone=(), geolocation=()",
} as const;

/** `/playground` and `/operations`: static pages without a key, which ask for one themselves. */
export async function addWebPages(app: FastifyInstance, log: Pick<Logger, "warn">): Promise<void> {
  if (!existsSync(folder)) {
    log.warn("no pages: they were not built (npm run build)");
    return;
  }
  await app.register(async (pages) => {
    pages.addHook("onRequest", async (_request, reply) => {
      reply.headers(PAGE_HEADERS);
    });
    // Every file has a route of its own: no path is looked up.
    await pages.register(fastifyStatic, {
      root: folder,
      prefix: "/assets/",
      wildcard: false,
      index: false,
      // A browser asks again each time; the ETag spares it the bytes.
      maxAge: 0,
    });
    pages.get("/", async (_request, reply) => reply.redirect("/playground"));
    pages.get("/playground", async (_request, reply) => reply.sendFile("playground.html"));
    pages.get("/operations", async (_request, reply) => reply.sendFile("operations.html"));
  });
}
