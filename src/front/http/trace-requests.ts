import type { FastifyInstance } from "fastify";
import { isTraceparent, type Tracer, UNTRACED } from "../../core/tracing.js";

/**
 * A span for each request to the routes of `app`, below the caller's own where it names one. It knows
 * the route and not the path: what callers write stays out.
 */
export function traceRequests(app: FastifyInstance, tracer: Tracer): void {
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
