import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addAdminRoutes } from "#framemill/front/operations/admin.js";
import { createOperations } from "#framemill/front/operations/operations.js";
import type { Front } from "#framemill/front/front.js";
import { listModelPackages, modelInfo } from "#framemill/runtime/packages/model-package.js";
import { listModalities } from "#framemill/modalities/registry.js";
import { startScriptedWorker, words } from "../../support/front-workers.js";
import {
  type Account,
  call,
  type Harness,
  makeClip,
  startHarness,
} from "../../support/front-harness.js";

const ADMIN_KEY = "an-admin-key-of-some-length";
const MEBIBYTE = 2 ** 20;
const modelsDir = fileURLToPath(new URL("../../../models", import.meta.url));

let harness: Harness;
let front: Front;
let stranger: Account;
let stopWorker: () => Promise<void>;
beforeAll(async () => {
  harness = await startHarness("postgres");
  const models = await Promise.all((await listModelPackages(modelsDir)).map(modelInfo));
  front = await harness.startReplica({
    models,
    addPages(app, { keys, database }) {
      addAdminRoutes(app, createOperations(database, keys), [{ name: "admin", key: ADMIN_KEY }]);
    },
  });
  stranger = await harness.createAccount();
  const script = async function* answer() {
    yield { type: "output", output: words("said by the owner") } as const;
  };
  const worker = await startScriptedWorker(
    { ...harness, models },
    script,
    ({ modality }) => modality === "chat",
  );
  stopWorker = () => worker.stop();
});
afterAll(async () => {
  await stopWorker?.();
  await harness?.close();
});

interface Operation {
  readonly path: string;
  readonly method: string;
}

/** Every operation of the description that names one object. */
async function operationsWithId(): Promise<Operation[]> {
  const { json } = await call(`${front.origin}/openapi.json`);
  const paths = Object.entries(json.paths as Record<string, object>);
  return paths
    .filter(([path]) => path.includes("{id}") && !path.startsWith("/models/"))
    .flatMap(([path, methods]) =>
      ["get", "post", "delete", "put", "patch"]
        .filter((method) => method in methods)
        .map((method) => ({ path, method: method.toUpperCase() })),
    );
}

/** An object of the owner's below each path, as a request of the owner made it. */
async function createObjects(): Promise<ReadonlyMap<string, string>> {
  const { key } = harness.account;
  const ids = new Map<string, string>([["videos", await makeClip(harness, key)]]);
  ids.set("charges", ids.get("videos") ?? "");
  const more = listModalities().filter(
    ({ endpoint }) => endpoint.delivery === "poll" || endpoint.isResource === true,
  );
  for (const modality of more) {
    const root = modality.endpoint.path.replace("/v1/", "");
    const model = modality.modelsOf ?? modality.name;
    const { id } = (await listModelPackages(modelsDir)).find((one) => one.modality === model) ?? {};
    const body = { model: id, ...modality.example() };
    const { json } = await call(`${front.baseUrl}/${root}`, { key, body });
    if (!ids.has(root)) ids.set(root, json.id as string);
  }
  return ids;
}

describe("another project's objects", () => {
  it("are answered byte for byte as unknown ones, on every route that names one", async () => {
    const ids = await createObjects();
    const operations = await operationsWithId();
    expect(operations.length).toBeGreaterThanOrEqual(10);
    for (const { path, method } of operations) {
      const own = ids.get(path.split("/")[1] ?? "") ?? "";
      expect(own).toMatch(/^[a-z]+_[0-9a-f]{32}$/);
      const unknown = own.replace(/[0-9a-f]{32}$/, "0123456789abcdef".repeat(2));
      const ask = async (id: string) => {
        const url = `${front.baseUrl}${path.replace("{id}", id)}`;
        const { status, text, headers } = await call(url, { key: stranger.key, method });
        const kept = [...headers].filter(([name]) => !/^(x-|date|openai-)/.test(name));
        return { status, text: text.replaceAll(id, "{id}"), kept };
      };
      const [foreign, none] = [await ask(own), await ask(unknown)];
      expect([method, path, foreign.status]).toEqual([method, path, 404]);
      expect(foreign).toEqual(none);
    }
    for (const id of ids.values()) {
      const after = await call(`${front.baseUrl}/videos?after=${id}`, { key: stranger.key });
      expect(after.status).toBe(400);
    }
    // They were there all the time.
    const { key } = harness.account;
    for (const [root, id] of ids)
      expect((await call(`${front.baseUrl}/${root}/${id}`, { key })).status).toBe(200);
  });

  it("cannot be continued", async () => {
    const model = "service-chat-1";
    const { key } = harness.account;
    const first = await call(`${front.baseUrl}/responses`, { key, body: { model, input: "x" } });
    expect(first.status).toBe(200);
    const more = (id: unknown) => ({ model, input: "and?", previous_response_id: id });
    const ask = async (id: string) => {
      const answer = await call(`${front.baseUrl}/responses`, {
        key: stranger.key,
        body: more(id),
      });
      return { status: answer.status, text: answer.text.replaceAll(id, "{id}") };
    };
    const id = first.json.id as string;
    const foreign = await ask(id);
    expect(foreign.status).toBeGreaterThanOrEqual(400);
    expect(foreign).toEqual(await ask(`${id.slice(0, -4)}0000`));
  });
});

describe("bodies", () => {
  it.each(listModalities().map(({ name, endpoint }) => ({ name, endpoint })))(
    "of $name are refused beyond their limit with 413",
    async ({ endpoint }) => {
      const isForm = endpoint.maxBodyBytes !== undefined;
      const limit = endpoint.maxBodyBytes ?? 4 * MEBIBYTE;
      const type = isForm ? "multipart/form-data; boundary=b" : "application/json";
      const head = `--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n`;
      const bytes = Buffer.alloc(limit + 1, isForm ? 0 : " ");
      const body = isForm ? Buffer.concat([Buffer.from(head), bytes]) : bytes;
      const { key } = harness.account;
      const url = `${front.origin}${endpoint.path}`;
      const answer = await call(url, { key, body, headers: { "content-type": type } });
      expect([answer.status, answer.json.error.code]).toEqual([413, "payload_too_large"]);
    },
  );

  it("are longer only where files come with them: pictures, and a sound of 25 MB", () => {
    const limits = listModalities().map(({ name, endpoint }) => [name, endpoint.maxBodyBytes]);
    const own = limits.filter(([, limit]) => limit !== undefined);
    expect(Object.fromEntries(own)).toEqual({
      "image-edit": 15 * MEBIBYTE,
      moderation: 15 * MEBIBYTE,
      transcription: 26 * MEBIBYTE,
      video: 15 * MEBIBYTE,
    });
  });
});

describe("the admin routes", () => {
  const routes = [
    ["GET", "/jobs"],
    ["GET", "/jobs/video_x"],
    ["POST", "/jobs/video_x/cancel"],
    ["POST", "/jobs/video_x/retry"],
    ["GET", "/queues"],
    ["GET", "/usage"],
    ["GET", "/dead-letters"],
    ["POST", "/dead-letters/x/replay"],
    ["DELETE", "/dead-letters/x"],
    ["GET", "/keys"],
    ["POST", "/keys"],
    ["DELETE", "/keys/key_x"],
    ["GET", "/projects"],
    ["PUT", "/projects/test"],
    ["POST", "/projects/test/webhook-secret"],
  ] as const;

  it.each(routes)("%s /admin%s is shut to everyone without the admin key", async (method, path) => {
    const url = `${front.origin}/admin${path}`;
    const keys = [undefined, "", harness.account.key, `${ADMIN_KEY}x`, ADMIN_KEY.slice(1)];
    const answers = await Promise.all(
      keys.map((key) => call(url, { method, ...(key !== undefined && { key }) })),
    );
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 401));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  it("forbid browsers to cache, frame and run anything", async () => {
    const { status, headers } = await call(`${front.origin}/admin/projects`, { key: ADMIN_KEY });
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toMatchObject({
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
    });
  });
});
