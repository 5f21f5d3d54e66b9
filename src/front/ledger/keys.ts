import { createHash, timingSafeEqual } from "node:crypto";
import { sql } from "kysely";
import { JobError } from "../../core/errors.js";
import { groupCommit } from "../../core/async/group-commit.js";
import type { Database } from "./database/database.js";

export interface ProjectLimits {
  readonly requestsPerMinute: number;
  readonly tokensPerMinute: number;
  /** Micro-dollars a calendar month (UTC); null = no limit. */
  readonly monthlyLimitMicroUsd: number | null;
  /** Share of the workers beside projects of weight 1 when all have jobs waiting; above 0. */
  readonly weight: number;
}

export interface Project extends ProjectLimits {
  readonly id: string;
  readonly name: string;
  /** Whether it has a secret that signs webhooks. */
  readonly hasWebhookSecret: boolean;
}

export interface ApiKey {
  readonly id: string;
  readonly projectId: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly revokedAtMs: number | null;
}

/** Who sends a request: the project that pays and the key it used. */
export interface Caller {
  readonly apiKeyId: string;
  readonly project: Project;
}

export interface Keys {
  readonly createProject: (name: string, limits?: Partial<ProjectLimits>) => Promise<Project>;
  readonly listProjects: () => Promise<Project[]>;
  /** The secret that signs the project's webhooks, made where there is none or a new one is wanted. */
  readonly webhookSecret: (projectId: string, renew: boolean) => Promise<string>;
  readonly setLimits: (projectId: string, limits: Partial<ProjectLimits>) => Promise<Project>;
  /** The key is shown once, here; afterwards only its hash exists. */
  readonly createKey: (
    projectId: string,
    name: string,
  ) => Promise<{ readonly id: string; readonly key: string }>;
  readonly listKeys: (projectId?: string) => Promise<ApiKey[]>;
  /** False when there is no such key or it was revoked before. */
  readonly revokeKey: (keyId: string) => Promise<boolean>;
  /** Throws the same `invalid_api_key` for every cause. */
  readonly authenticate: (authorization: string | undefined) => Promise<Caller>;
}

export interface KeysOptions {
  readonly database: Database;
  readonly defaults: ProjectLimits;
  readonly randomBytes: (byteLength: number) => Uint8Array;
}

const KEY_PATTERN = /^Bearer +(fm_[0-9A-Za-z]{43})$/i;
const KEY_DIGITS = 43;
/** Keys that are looked up at once. */
const MOST_TOGETHER = 64;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

export function createKeys({ database, defaults, randomBytes }: KeysOptions): Keys {
  const { kysely } = database;
  const findKey = groupCommit(keyFinder(database), MOST_TOGETHER);
  const newId = (prefix: string) => `${prefix}_${Buffer.from(randomBytes(12)).toString("hex")}`;
  return {
    async createProject(name, limits = {}) {
      const all = { ...defaults, ...limits };
      const project = { id: newId("proj"), name, hasWebhookSecret: false, ...all };
      await kysely
        .insertInto("projects")
        .values({ id: project.id, name, ...limitColumns(project) })
        .execute();
      return project;
    },
    async listProjects() {
      const rows = await kysely.selectFrom("projects").selectAll().orderBy("created_at").execute();
      return rows.map(toProject);
    },
    async setLimits(projectId, limits) {
      const current = await getProject(database, projectId);
      await kysely
        .updateTable("projects")
        .set(limitColumns({ ...current, ...limits }))
        .where("id", "=", projectId)
        .execute();
      return await getProject(database, projectId);
    },
    webhookSecret: (projectId, renew) =>
      keepWebhookSecret(database, { projectId, renew, fresh: randomBytes(32) }),
    async createKey(projectId, name) {
      await getProject(database, projectId);
      const id = newId("key");
      const key = `fm_${toBase62(randomBytes(32))}`;
      const row = { id, project_id: projectId, name, sha256: hashKey(key).toString("hex") };
      await kysely.insertInto("api_keys").values(row).execute();
      return { id, key };
    },
    async listKeys(projectId) {
      const query = kysely.selectFrom("api_keys").selectAll().orderBy("created_at");
      const rows = await (
        projectId === undefined ? query : query.where("project_id", "=", projectId)
      ).execute();
      return rows.map((row) => ({
        id: row.id,
        projectId: row.project_id,
        name: row.name,
        createdAtMs: row.created_at.getTime(),
        revokedAtMs: row.revoked_at?.getTime() ?? null,
      }));
    },
    async revokeKey(keyId) {
      const revoked = await sql`UPDATE api_keys SET revoked_at = now()
        WHERE id = ${keyId} AND revoked_at IS NULL RETURNING id`.execute(kysely);
      return revoked.rows.length === 1;
    },
    authenticate: (authorization) => authenticate(findKey, authorization),
  };
}

interface WebhookSecret {
  readonly projectId: string;
  readonly renew: boolean;
  readonly fresh: Uint8Array;
}

async function keepWebhookSecret(
  { kysely }: Database,
  { projectId, renew, fresh }: WebhookSecret,
): Promise<string> {
  const secret = `whsec_${Buffer.from(fresh).toString("base64")}`;
  const kept = renew ? sql`${secret}` : sql`coalesce(webhook_secret, ${secret})`;
  const { rows } = await sql<{ webhook_secret: string }>`UPDATE projects
    SET webhook_secret = ${kept} WHERE id = ${projectId} RETURNING webhook_secret`.execute(kysely);
  if (rows[0] === undefined) throw unknownProject(projectId);
  return rows[0].webhook_secret;
}

async function authenticate(
  findKey: (hash: string) => Promise<FoundKey>,
  authorization: string | undefined,
): Promise<Caller> {
  const key = readKey(authorization);
  if (key === undefined) throw invalidKey();
  const hash = hashKey(key);
  const { row } = await findKey(hash.toString("hex"));
  if (row === undefined || !timingSafeEqual(hash, Buffer.from(row.sha256, "hex")))
    throw invalidKey();
  return { apiKeyId: row.api_key_id, project: toProject(row) };
}

interface KeyRow extends ProjectRow {
  readonly api_key_id: string;
  readonly sha256: string;
}

interface FoundKey {
  /** Undefined where the key is unknown or revoked. */
  readonly row: KeyRow | undefined;
}

/** Read anew for every request, so that a revoked key is refused at once; those that wait, in one go. */
function keyFinder({ kysely }: Database) {
  return async (hashes: readonly string[]): Promise<FoundKey[]> => {
    const rows = await kysely
      .selectFrom("api_keys")
      .innerJoin("projects", "projects.id", "api_keys.project_id")
      .select([
        "projects.id",
        "projects.name",
        "projects.requests_per_minute",
        "projects.tokens_per_minute",
        "projects.monthly_limit_micro_usd",
        "projects.weight",
        "projects.webhook_secret",
        "api_keys.id as api_key_id",
        "api_keys.sha256",
      ])
      .where(sql<boolean>`api_keys.sha256 = ANY(${[...new Set(hashes)]}::text[])`)
      .where("api_keys.revoked_at", "is", null)
      .execute();
    const known = new Map(rows.map((row) => [row.sha256, row]));
    return hashes.map((hash) => ({ row: known.get(hash) }));
  };
}

function invalidKey(): JobError {
  return new JobError("invalid_api_key", "Incorrect API key provided.");
}

async function getProject({ kysely }: Database, id: string): Promise<Project> {
  const row = await kysely
    .selectFrom("projects")
    .selectAll()
    .where("id", "=", id)
    .executeTakeFirst();
  if (row === undefined) throw unknownProject(id);
  return toProject(row);
}

function unknownProject(id: string): JobError {
  return new JobError("not_found", `no project has the id ${id}`);
}

interface ProjectRow {
  readonly id: string;
  readonly name: string;
  readonly requests_per_minute: number;
  readonly tokens_per_minute: number;
  readonly monthly_limit_micro_usd: number | null;
  readonly weight: number;
  readonly webhook_secret: string | null;
}

function toProject(row: ProjectRow): Project {
  return {
    id: row.id,
    name: row.name,
    requestsPerMinute: row.requests_per_minute,
    tokensPerMinute: row.tokens_per_minute,
    monthlyLimitMicroUsd: row.monthly_limit_micro_usd,
    weight: row.weight,
    hasWebhookSecret: row.webhook_secret !== null,
  };
}

function limitColumns(limits: ProjectLimits) {
  return {
    requests_per_minute: limits.requestsPerMinute,
    tokens_per_minute: limits.tokensPerMinute,
    monthly_limit_micro_usd: limits.monthlyLimitMicroUsd,
    weight: limits.weight,
  };
}

/** Undefined where the header has nothing of a key's form. */
export function readKey(authorization: string | undefined): string | undefined {
  return KEY_PATTERN.exec(authorization ?? "")?.[1];
}

export function hashKey(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}

/** 32 bytes are at most 43 digits of base 62. */
function toBase62(bytes: Uint8Array): string {
  let rest = BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
  let digits = "";
  for (let index = 0; index < KEY_DIGITS; index += 1) {
    digits = `${BASE62[Number(rest % 62n)]}${digits}`;
    rest /= 62n;
  }
  return digits;
}

/** A key of 32 random bytes that all replicas share: the first one to ask makes it. */
export async function readSharedSecret(
  { kysely }: Database,
  name: string,
  randomBytes: (byteLength: number) => Uint8Array,
): Promise<Uint8Array> {
  await kysely
    .insertInto("secrets")
    .values({ name, value: randomBytes(32) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { value } = await kysely
    .selectFrom("secrets")
    .select("value")
    .where("name", "=", name)
    .executeTakeFirstOrThrow();
  return value;
}
