import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";

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
    pages.get("/playground", async (_request, reply) => reply.sendFile("playground.html"));
    pages.get("/operations", async (_request, reply) => reply.sendFile("operations.html"));
  });
}
