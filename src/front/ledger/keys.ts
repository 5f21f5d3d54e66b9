import { createHash, timingSafeEqual } from "node:crypto";
import { type Db, sql } from "./database/sql.js";
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

export type Keys = ReturnType<typeof createKeys>;

export function createKeys({ database: db, defaults, randomBytes }: KeysOptions) {
  const findKey = groupCommit(keyFinder(db), MOST_TOGETHER);
  const newId = (prefix: string) => `${prefix}_${Buffer.from(randomBytes(12)).toString("hex")}`;
  return {
    async createProject(name: string, limits: Partial<ProjectLimits> = {}): Promise<Project> {
      const all = { ...defaults, ...limits };
      const { rows } = await sql<Project>`INSERT INTO projects (id, name, requests_per_minute,
          tokens_per_minute, monthly_limit_micro_usd, weight)
        VALUES (${newId("proj")}, ${name}, ${all.requestsPerMinute}, ${all.tokensPerMinute},
          ${all.monthlyLimitMicroUsd}, ${all.weight}) RETURNING ${PROJECT}`.execute(db);
      return known(rows[0], name);
    },
    async listProjects(): Promise<Project[]> {
      const all = sql<Project>`SELECT ${PROJECT} FROM projects ORDER BY created_at`;
      return (await all.execute(db)).rows;
    },
    async setLimits(projectId: string, limits: Partial<ProjectLimits>): Promise<Project> {
      const all = { ...(await getProject(db, projectId)), ...limits };
      const { rows } = await sql<Project>`UPDATE projects
        SET requests_per_minute = ${all.requestsPerMinute},
          tokens_per_minute = ${all.tokensPerMinute},
          monthly_limit_micro_usd = ${all.monthlyLimitMicroUsd}, weight = ${all.weight}
        WHERE id = ${projectId} RETURNING ${PROJECT}`.execute(db);
      return known(rows[0], projectId);
    },
    /** The secret that signs the project's webhooks, made where there is none, or anew with `renew`. */
    async webhookSecret(projectId: string, renew: boolean): Promise<string> {
      const fresh = `whsec_${Buffer.from(randomBytes(32)).toString("base64")}`;
      const kept = renew ? sql`${fresh}` : sql`coalesce(webhook_secret, ${fresh})`;
      const { rows } = await sql<{ secret: string }>`UPDATE projects SET webhook_secret = ${kept}
        WHERE id = ${projectId} RETURNING webhook_secret AS secret`.execute(db);
      return known(rows[0], projectId).secret;
    },
    /** The key is shown once, here; afterwards only its hash exists. */
    async createKey(projectId: string, name: string) {
      await getProject(db, projectId);
      const id = newId("key");
      const key = `fm_${toBase62(randomBytes(32))}`;
      await sql`INSERT INTO api_keys (id, project_id, name, sha256)
        VALUES (${id}, ${projectId}, ${name}, ${hashKey(key).toString("hex")})`.execute(db);
      return { id, key };
    },
    async listKeys(): Promise<ApiKey[]> {
      const { rows } = await sql<ApiKey>`SELECT id, project_id AS "projectId", name,
          floor(extract(epoch FROM created_at) * 1000)::bigint AS "createdAtMs",
          floor(extract(epoch FROM revoked_at) * 1000)::bigint AS "revokedAtMs"
        FROM api_keys ORDER BY created_at`.execute(db);
      return rows;
    },
    /** False when there is no such key or it was revoked before. */
    async revokeKey(keyId: string): Promise<boolean> {
      const revoked = await sql`UPDATE api_keys SET revoked_at = now()
        WHERE id = ${keyId} AND revoked_at IS NULL RETURNING id`.execute(db);
      return revoked.rows.length === 1;
    },
    /** Throws the same `invalid_api_key` for every key that is not good. */
    authenticate: async (authorization: string | undefined): Promise<Caller> => {
      const key = readKey(authorization);
      if (key === undefined) throw authorization === undefined ? noKey() : invalidKey();
      const hash = hashKey(key);
      const { row } = await findKey(hash.toString("hex"));
      if (row === undefined || !timingSafeEqual(hash, Buffer.from(row.sha256, "hex")))
        throw invalidKey();
      const { apiKeyId, sha256: _, ...project } = row;
      return { apiKeyId, project };
    },
  };
}

interface KeyRow extends Project {
  readonly apiKeyId: string;
  readonly sha256: string;
}

interface FoundKey {
  /** Undefined where the key is unknown or revoked. */
  readonly row: KeyRow | undefined;
}

/** Read anew for every request, so that a revoked key is refused at once; those that wait, in one go. */
function keyFinder(db: Database) {
  return async (hashes: readonly string[]): Promise<FoundKey[]> => {
    const { rows } = await sql<KeyRow>`SELECT ${PROJECT}, api_keys.id AS "apiKeyId", sha256
      FROM api_keys JOIN projects ON projects.id = api_keys.project_id
      WHERE sha256 = ANY(${[...new Set(hashes)]}::text[]) AND revoked_at IS NULL`.execute(db);
    const found = new Map(rows.map((row) => [row.sha256, row]));
    return hashes.map((hash) => ({ row: found.get(hash) }));
  };
}

function noKey(): JobError {
  const message = "No API key was sent: it belongs into the header `Authorization: Bearer KEY`.";
  return new JobError("invalid_api_key", message);
}

function invalidKey(): JobError {
  return new JobError("invalid_api_key", "Incorrect API key provided.");
}

async function getProject(db: Db, id: string): Promise<Project> {
  const { rows } = await sql<Project>`SELECT ${PROJECT} FROM projects WHERE id = ${id}`.execute(db);
  return known(rows[0], id);
}

function known<Row>(row: Row | undefined, projectId: string): Row {
  if (row !== undefined) return row;
  throw new JobError("not_found", `no project has the id ${projectId}`);
}

/** The columns of a `Project`. */
const PROJECT = sql`projects.id, projects.name, requests_per_minute AS "requestsPerMinute",
  tokens_per_minute AS "tokensPerMinute", monthly_limit_micro_usd AS "monthlyLimitMicroUsd",
  weight, webhook_secret IS NOT NULL AS "hasWebhookSecret"`;

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
  db: Database,
  name: string,
  randomBytes: (byteLength: number) => Uint8Array,
): Promise<Uint8Array> {
  await sql`INSERT INTO secrets (name, value) VALUES (${name}, ${randomBytes(32)})
    ON CONFLICT DO NOTHING`.execute(db);
  const { rows } = await sql<{ value: Uint8Array }>`SELECT value FROM secrets
    WHERE name = ${name}`.execute(db);
  if (rows[0] === undefined) throw new Error(`the secret ${name} went while it was read`);
  return rows[0].value;
}
