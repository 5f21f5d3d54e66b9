import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { JobError } from "../core/errors.js";
import { readMoment } from "../core/moments.js";
import type { Operations } from "./operations.js";
import { invoicesCsv, usageCsv } from "./usage-csv.js";
import { readGroups, USAGE_GROUPS, type UsageGroup } from "./usage-groups.js";

const newKey = z.strictObject({ project: z.string().min(1).max(64), name: z.string().max(64) });
const limit = z.coerce.number().int().min(1).max(1_000).default(20);
const word = z.string().min(1).max(256);
const time = z.string().transform((text, context): string => {
  const moment = readMoment(text, Date.now());
  if (moment !== undefined) return moment;
  context.addIssue(`must be a date, a time or e.g. 90m, 24h or 7d ago, got ${text.slice(0, 64)}`);
  return z.NEVER;
});
const groups = z.string().transform((text, context): readonly UsageGroup[] => {
  const read = readGroups(text);
  if (read !== undefined) return read;
  context.addIssue(`must be some of ${USAGE_GROUPS.join(",")}, got ${text.slice(0, 64)}`);
  return z.NEVER;
});
const format = z.enum(["json", "csv"]).default("json");
const jobsQuery = z.strictObject({
  limit,
  after: word.exactOptional(),
  state: z.enum(["queued", "in_progress", "completed", "failed"]).exactOptional(),
  modality: word.exactOptional(),
  model: word.exactOptional(),
  project: word.exactOptional(),
  since: time.exactOptional(),
});
const usageQuery = z.strictObject({
  project: word.exactOptional(),
  since: time.exactOptional(),
  until: time.exactOptional(),
  by: groups.exactOptional(),
  format,
});
const invoicesQuery = z.strictObject({
  month: z.string().max(7),
  project: word.exactOptional(),
  format,
});
const deadLettersQuery = z.strictObject({ limit });
const idParams = z.object({ id: word });
const count = z.number().int().positive();
const limits = z.strictObject({
  requestsPerMinute: count.exactOptional(),
  tokensPerMinute: count.exactOptional(),
  monthlyLimitMicroUsd: count.nullable().exactOptional(),
  weight: z.number().positive().exactOptional(),
});
const renewal = z.strictObject({ renew: z.boolean() });
const projectParams = z.object({ name: z.string().min(1).max(64) });
const drainOrder = z.strictObject({ drain: z.boolean() });

const CSV = "text/csv; charset=utf-8; header=present";

/** Answers hold keys and secrets: nothing keeps, frames or refers to them. */
const PRIVATE_HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
} as const;

/** `/admin/…`: what the command line asks of a running front, behind the admin key. */
export function addAdminRoutes(
  app: FastifyInstance,
  operations: Operations,
  adminKey: string,
): void {
  void app.register(
    async (admin) => {
      admin.addHook("onRequest", async ({ headers }, reply) => {
        reply.headers(PRIVATE_HEADERS);
        if (!sameText(headers.authorization ?? "", `Bearer ${adminKey}`)) {
          throw new JobError("invalid_api_key", "the admin key is not right");
        }
      });
      addJobRoutes(admin, operations);
      admin.get("/overview", async () => operations.readOverview());
      admin.get("/keys", async () => operations.listKeys());
      admin.post("/keys", async ({ body }) => {
        const { project, name } = parse(newKey, body);
        return operations.createKey(project, name);
      });
      admin.get("/projects", async () => operations.listProjects());
      admin.put("/projects/:name", async ({ params, body }) =>
        operations.setProject(parse(projectParams, params).name, parse(limits, body)),
      );
      admin.post("/projects/:name/webhook-secret", async ({ params, body }, reply) => {
        const { renew } = parse(renewal, body);
        const secret = await operations.webhookSecret(parse(projectParams, params).name, renew);
        return reply.send(JSON.stringify(secret));
      });
      admin.get("/workers", async () => operations.listWorkers());
      admin.post("/workers/:id/drain", async ({ params, body }) => {
        const { drain } = parse(drainOrder, body);
        await operations.drainWorker(parse(idParams, params).id, drain);
        return { drain };
      });
      admin.delete("/keys/:id", async ({ params }, reply) =>
        reply.send(JSON.stringify(await operations.revokeKey(parse(idParams, params).id))),
      );
    },
    { prefix: "/admin" },
  );
}

function addJobRoutes(admin: FastifyInstance, operations: Operations): void {
  const { deadLetters } = operations;
  admin.get("/jobs", async ({ query }) => operations.listJobs(parse(jobsQuery, query)));
  admin.get("/jobs/:id", async ({ params }) => operations.getJob(parse(idParams, params).id));
  admin.post("/jobs/:id/cancel", async ({ params }) => ({
    cancelled: await operations.cancelJob(parse(idParams, params).id),
  }));
  admin.post("/jobs/:id/retry", async ({ params }) =>
    operations.retryJob(parse(idParams, params).id),
  );
  admin.get("/queues", async () => operations.listQueues());
  admin.get("/usage", async ({ query }, reply) => {
    const { format: wanted, ...asked } = parse(usageQuery, query);
    const usage = await operations.summariseUsage(asked);
    return wanted === "csv" ? reply.type(CSV).send(usageCsv(usage)) : usage;
  });
  admin.get("/invoices", async ({ query }, reply) => {
    const { format: wanted, ...asked } = parse(invoicesQuery, query);
    const invoices = await operations.readInvoices(asked);
    return wanted === "csv" ? reply.type(CSV).send(invoicesCsv(invoices)) : invoices;
  });
  admin.get("/dead-letters", async ({ query }) =>
    deadLetters.list(parse(deadLettersQuery, query).limit),
  );
  admin.post("/dead-letters/:id/replay", async ({ params }) => ({
    replayed: await deadLetters.replay(parse(idParams, params).id),
  }));
  admin.delete("/dead-letters/:id", async ({ params }) => ({
    dropped: await deadLetters.drop(parse(idParams, params).id),
  }));
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const param = issue?.path.join(".") ?? "";
  throw new JobError("invalid_value", `${param}: ${issue?.message}`, { param });
}

function sameText(left: string, right: string): boolean {
  const [a, b] = [left, right].map((text) => createHash("sha256").update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
