import type { FastifyInstance } from "fastify";
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
  /** Absent = told elsewhere, or not at all. */
  readonly metrics?: MetricsPage;
  readonly findObstacles: FindObstacles;
  readonly partStates: () => PartStates;
}

/** Health, metrics and the API's description: for probes and tools, without a key. */
export function addOpenRoutes(app: FastifyInstance, options: OpenRoutesOptions): void {
  const { modalities, metrics, findObstacles, partStates } = options;
  app.get("/healthz", async () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    const reasons = await findObstacles();
    if (reasons.length === 0) return { status: "ready", parts: partStates() };
    const error = new JobError("service_unavailable", `not ready: ${reasons.join("; ")}`);
    const { status, headers, body } = renderError(error);
    return await reply
      .code(status)
      .headers(headers)
      .send({ ...body, reasons, parts: partStates() });
  });
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
