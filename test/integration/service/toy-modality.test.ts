import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLedger, type Ledger } from "../../support/front-harness.js";
import { writeModelPackage } from "../../support/model-manifest.js";
import { buildWithModalities } from "../../support/build-with-modality.js";
import { type ServiceProcesses, startUp } from "../../support/service-harness.js";

const reversal = new URL("../../fixtures/toy-modality", import.meta.url);
const print = new URL("../../fixtures/polled-modality", import.meta.url);
const ADDED = [
  { name: "reversal", source: fileURLToPath(reversal) },
  { name: "print", source: fileURLToPath(print) },
];
const execution = { providers: ["cpu"], concurrency: 4 };
const MODELS = [
  { id: "reverser", modality: "reversal", execution },
  { id: "printer", modality: "print", execution },
];

describe("a modality more, one folder and one line", () => {
  let folder = "";
  let ledger: Ledger | undefined;
  let up: ServiceProcesses | undefined;
  const service = () => {
    if (up === undefined) throw new Error("the service did not start");
    return up;
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-toy-"));
    for (const model of MODELS) {
      await mkdir(join(folder, "models", model.id), { recursive: true });
      writeModelPackage(join(folder, "models", model.id), model);
    }
    ledger = await createLedger();
    up = await startUp(join(folder, "data"), {
      cliPath: await buildWithModalities(folder, ADDED),
      environment: {
        ...ledger.environment,
        MODELS_DIR: join(folder, "models"),
      },
    });
  });
  afterAll(async () => {
    await up?.stop();
    await ledger?.drop();
    await rm(folder, { recursive: true, force: true });
  });

  const post = (body: object) => service().client.post("/reversals", { body });

  test("that is replied to is served, queued and billed", async () => {
    const answer = await post({ model: "reverser", text: "a red boat" });
    expect(answer).toEqual({ id: expect.stringMatching(/^rev_[0-9a-f]{32}$/), text: "taob der a" });
    const [job] = await service().jobs();
    expect(job).toMatchObject({ state: "completed", attempts: 1, chargedMicroUsd: 500 });
  });

  test("refuses what its models cannot serve, by the rules of all endpoints", async () => {
    await expect(post({ text: "boat" })).rejects.toMatchObject({ status: 400, param: "model" });
    await expect(post({ model: "none", text: "boat" })).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
    });
  });

  describe("that is polled", () => {
    const client = () => service().client;
    const create = (body: object) =>
      client().post<{ id: string }>("/prints", {
        body: { model: "printer", text: "a red boat", paper: "plain", ...body },
      });
    const content = (id: string) => client().get(`/prints/${id}/content`);

    test("is created, waited for, downloaded and billed by its tier", async () => {
      const { id } = await create({ paper: "fine" });
      expect(id).toMatch(/^print_[0-9a-f]{32}$/);
      expect(await client().get(`/prints/${id}?wait=30`)).toMatchObject({
        object: "print",
        status: "completed",
        paper: "fine",
        cost: { final: 0.0003 },
      });
      expect(await content(id)).toBe("a red boat");
      expect(await client().get("/prints")).toMatchObject({ data: [{ id }] });
      const job = (await service().jobs()).find((row) => row.id === id);
      expect(job).toMatchObject({ state: "completed", attempts: 1, chargedMicroUsd: 300 });
    });

    test("says what keeps its content from a caller by codes of its own name", async () => {
      const { id } = await create({ pause_ms: 60_000 });
      await expect(content(id)).rejects.toMatchObject({ status: 409, code: "print_not_ready" });
      await client().post(`/prints/${id}/cancel`);
      await expect(content(id)).rejects.toMatchObject({ status: 409, code: "print_failed" });
      expect(await client().delete(`/prints/${id}`)).toMatchObject({ object: "print.deleted" });
      await expect(content(id)).rejects.toMatchObject({ status: 404, code: "print_not_found" });
    });
  });

  test("is documented in /openapi.json", async () => {
    const { origin } = new URL(service().baseUrl);
    const openapi = (await (await fetch(`${origin}/openapi.json`)).json()) as {
      paths: Record<string, { post?: { requestBody: { content: object } } }>;
      components: { schemas: Record<string, object> };
    };
    expect(openapi.paths["/reversals"]?.post?.requestBody.content).toMatchObject({
      "application/json": {
        example: { text: "boat" },
        schema: { $ref: "#/components/schemas/ReversalRequest" },
      },
    });
    expect(openapi.components.schemas).toMatchObject({
      ReversalRequest: { required: ["model", "text"] },
      PrintList: { required: expect.arrayContaining(["data", "has_more"]) },
    });
  });
});
