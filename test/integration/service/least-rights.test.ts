import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { call, createPostgres, dropPostgres } from "../../support/front-harness.js";
import { getAmqpUrl } from "../../support/queue-harness.js";
import {
  environmentOf,
  runCommand,
  type Running,
  startProcess,
} from "../../support/service-harness.js";

/** The rights that docs/operations/own-machines.md tells operators to give. */
const QUEUES = String.raw`^jobs(\..*)?$`;

const name = `least-${randomBytes(4).toString("hex")}`;
const password = randomBytes(12).toString("hex");
const started: Running[] = [];
let folder: string;
let databaseUrl: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-least-"));
  databaseUrl = await createPostgres();
});
afterAll(async () => {
  for (const running of started) await running.stop("SIGKILL");
  await dropPostgres(databaseUrl);
  const roles = ["owner", "front"].map((role) => `DROP ROLE IF EXISTS "${name}-${role}"`);
  await asPostgres(process.env["DATABASE_URL"] ?? "", roles);
  await callBroker("DELETE", `users/${name}`);
  await rm(folder, { recursive: true, force: true });
});

it.runIf(process.env["RABBITMQ_API_URL"])(
  "serves with the rights that the documentation names, and no others",
  async () => {
    await makeBrokerUser();
    const owner = await makeRole(`${name}-owner`, ["GRANT CREATE ON SCHEMA public TO"]);
    const front = await makeRole(`${name}-front`, []);
    const env = environmentOf(join(folder, "data"), {
      AMQP_URL: withUser(getAmqpUrl(), name),
      DATABASE_URL: front,
      MODELS: "service-embed-1",
    });
    await runCommand(["migrate"], { ...env, DATABASE_URL: owner });
    await asPostgres(owner, [
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "${name}-front"`,
      `GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "${name}-front"`,
    ]);
    const frontProcess = startProcess("front", env);
    started.push(frontProcess);
    const [, baseUrl = "", port] = await frontProcess.says(/"baseUrl":"([^"]+)","grpcPort":(\d+)/);
    const worker = startProcess("worker", { ...env, FRONT_ADDRESS: `127.0.0.1:${port}` });
    started.push(worker);
    await worker.says(/worker ready/);
    const key = (await runCommand(["keys", "create"], env)).trim();
    const body = { model: "service-embed-1", input: "boat" };
    expect((await call(`${baseUrl}/embeddings`, { key, body })).status).toBe(200);
    const configured = { ...env, FRONT_ADDRESS: `127.0.0.1:${port}` };
    const findings = JSON.parse(await runCommand(["doctor", "--json"], configured)) as Finding[];
    const byPart = Object.fromEntries(findings.map(({ part, verdict }) => [part, verdict]));
    expect(byPart).toMatchObject({
      front: `127.0.0.1:${port} answers, and accepts WORKER_TOKEN`,
      database: "Postgres answers; its schema is that of this release",
      phonemes: "no model needs them",
    });
    const stranger = { ...configured, WORKER_TOKEN: "another-token-of-a-stranger" };
    const answer = await runCommand(["doctor", "--json"], stranger).catch(
      (thrown: unknown) => (thrown as { readonly stdout: string }).stdout,
    );
    expect(JSON.parse(answer)).toContainEqual(
      expect.objectContaining({
        part: "front",
        ok: false,
        verdict: `127.0.0.1:${port} refuses this WORKER_TOKEN`,
      }),
    );
    for (const running of [worker, frontProcess]) await running.stop("SIGTERM");
    expect([worker.child.exitCode, frontProcess.child.exitCode]).toEqual([0, 0]);
  },
);

interface Finding {
  readonly part: string;
  readonly verdict: string;
}

async function makeBrokerUser(): Promise<void> {
  const host = new URL(getAmqpUrl()).pathname.slice(1);
  const rights = { configure: QUEUES, write: QUEUES, read: QUEUES };
  await callBroker("PUT", `users/${name}`, { password, tags: "" });
  await callBroker("PUT", `permissions/${host === "" ? "%2F" : host}/${name}`, rights);
}

async function callBroker(method: string, path: string, body?: object): Promise<void> {
  const api = process.env["RABBITMQ_API_URL"];
  if (api === undefined) return;
  const { username, password: secret, origin, pathname } = new URL(api);
  const authorization = `Basic ${Buffer.from(`${username}:${secret}`).toString("base64")}`;
  const headers = { authorization, "content-type": "application/json" };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await fetch(`${origin}${pathname}/${path}`, init);
  if (!response.ok) throw new Error(`${method} ${path}: RabbitMQ answered ${response.status}`);
}

function withUser(url: string, user: string): string {
  return Object.assign(new URL(url), { username: user, password }).href;
}

/** The database's address for a role that may log in and has these rights only. */
async function makeRole(role: string, grants: readonly string[]): Promise<string> {
  await asPostgres(databaseUrl, [
    `CREATE ROLE "${role}" LOGIN PASSWORD '${password}' NOSUPERUSER NOCREATEDB NOCREATEROLE`,
    ...grants.map((grant) => `${grant} "${role}"`),
  ]);
  return withUser(databaseUrl, role);
}

async function asPostgres(url: string, statements: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
