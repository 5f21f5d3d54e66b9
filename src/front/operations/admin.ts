import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { JobError } from "../../core/errors.js";
import { readMoment } from "../../core/time.js";
import type { LocalOperations, Operations } from "./operations.js";
import { marginsCsv } from "./margins.js";
import { invoicesCsv, usageCsv } from "./usage.js";
import { readGroups, USAGE_GROUPS, type UsageGroup } from "../../core/usage.js";

/** A key of the admin routes, and who has it. */
export interface AdminKey {
  readonly name: string;
  readonly key: string;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Whose admin key it bears. */
    adminName: string;
  }
}

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
const actionsQuery = z.strictObject({
  limit,
  since: time.exactOptional(),
  actor: word.exactOptional(),
});
const confirmation = z.strictObject({ confirm: z.string() });
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

/** `/admin/…`: what the command line asks of a running front, behind an admin key; changes are noted. */
export function addAdminRoutes(
  app: FastifyInstance,
  operations: LocalOperations,
  adminKeys: readonly AdminKey[],
): void {
  void app.register(
    async (admin) => {
      admin.decorateRequest("adminName", "");
      admin.addHook("onRequest", async (request, reply) => {
        reply.headers(PRIVATE_HEADERS);
        const given = request.headers.authorization ?? "";
        const known = adminKeys.find(({ key }) => sameText(given, `Bearer ${key}`));
        if (known === undefined)
          throw new JobError("invalid_api_key", "the admin key is not right");
        request.adminName = known.name;
      });
      const by = ({ adminName, ip }: FastifyRequest): Operations =>
        operations.as({ name: adminName, address: ip });
      addReadingRoutes(admin, operations);
      addJobRoutes(admin, by);
      admin.post("/keys", async (call) => {
        const { project, name } = parse(newKey, call.body);
        return by(call).createKey(project, name);
      });
      admin.put("/projects/:name", async (call) =>
        by(call).setProject(nameOf(call), parse(limits, call.body)),
      );
      admin.post("/projects/:name/webhook-secret", async (call, reply) => {
        const { renew } = parse(renewal, call.body);
        return reply.send(JSON.stringify(await by(call).webhookSecret(nameOf(call), renew)));
      });
      admin.get("/projects/:name/erasure", async (call) => operations.findErasure(nameOf(call)));
      admin.post("/projects/:name/erasure", async (call) => {
        const { projectId } = await operations.findErasure(nameOf(call));
        const { confirm } = parse(confirmation, call.body);
        if (confirm === projectId) return by(call).eraseProject(projectId);
        throw new JobError("invalid_value", `confirm must be the project's id, ${projectId}`, {
          param: "confirm",
        });
      });
      admin.post("/workers/:id/drain", async (call) => {
        const { drain } = parse(drainOrder, call.body);
        await by(call).drainWorker(idOf(call), drain);
        return { drain };
      });
      admin.delete("/keys/:id", async (call, reply) => {
        return reply.send(JSON.stringify(await by(call).revokeKey(idOf(call))));
      });
    },
    { prefix: "/admin" },
  );
}

const idOf = ({ params }: FastifyRequest): string => parse(idParams, params).id;
const nameOf = ({ params }: FastifyRequest): string => parse(projectParams, params).name;

function addReadingRoutes(admin: FastifyInstance, operations: Operations): void {
  admin.get("/overview", async () => operations.readOverview());
  admin.get("/keys", async () => operations.listKeys());
  admin.get("/projects", async () => operations.listProjects());
  admin.get("/fronts", async () => operations.listFronts());
  admin.get("/workers", async () => operations.listWorkers());
  admin.get("/jobs", async ({ query }) => operations.listJobs(parse(jobsQuery, query)));
  admin.get("/jobs/:id", async (call) => operations.getJob(idOf(call)));
  admin.get("/audit", async ({ query }) => operations.listActions(parse(actionsQuery, query)));
  admin.get("/queues", async () => operations.listQueues());
  admin.get("/usage", async ({ query }, reply) => {
    const { format: form, ...asked } = parse(usageQuery, query);
    const usage = await operations.summariseUsage(asked);
    return form === "csv" ? reply.type(CSV).send(usageCsv(usage)) : usage;
  });
  admin.get("/margins", async ({ query }, reply) => {
    const { format: form, ...asked } = parse(usageQuery, query);
    const margins = await operations.readMargins(asked);
    return form === "csv" ? reply.type(CSV).send(marginsCsv(margins)) : margins;
  });
  admin.get("/invoices", async ({ query }, reply) => {
    const { format: form, ...asked } = parse(invoicesQuery, query);
    const invoices = await operations.readInvoices(asked);
    return form === "csv" ? reply.type(CSV).send(invoicesCsv(invoices)) : invoices;
  });
  admin.get("/dead-letters", async ({ query }) =>
    operations.deadLetters.list(parse(deadLettersQuery, query).limit),
  );
}

function addJobRoutes(admin: FastifyInstance, by: (request: FastifyRequest) => Operations): void {
  admin.post("/jobs/:id/cancel", async (call) => ({
    cancelled: await by(call).cancelJob(idOf(call)),
  }));
  admin.post("/jobs/:id/retry", async (call) => by(call).retryJob(idOf(call)));
  admin.post("/dead-letters/:id/replay", async (call) => ({
    replayed: await by(call).deadLetters.replay(idOf(call)),
  }));
  admin.delete("/dead-letters/:id", async (call) => ({
    dropped: await by(call).deadLetters.drop(idOf(call)),
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
