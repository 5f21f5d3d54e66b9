import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLedger, type Ledger } from "../../support/front-harness.js";
import { writeModelPackage } from "../../support/model-manifest.js";
import { buildWithModality } from "../../support/build-with-modality.js";
import { type ServiceProcesses, startUp } from "../../support/service-harness.js";

const fixture = fileURLToPath(new URL("../../fixtures/eleventh-modality", import.meta.url));
const MODEL = {
  id: "reverser",
  modality: "reversal",
  execution: { providers: ["cpu"], concurrency: 4 },
};

describe("an eleventh modality, one folder and one line", () => {
  let folder = "";
  let ledger: Ledger | undefined;
  let up: ServiceProcesses | undefined;
  const service = () => {
    if (up === undefined) throw new Error("the service did not start");
    return up;
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-eleventh-"));
    await mkdir(join(folder, "models/reverser"), { recursive: true });
    writeModelPackage(join(folder, "models/reverser"), MODEL);
    ledger = await createLedger();
    up = await startUp(join(folder, "data"), {
      cliPath: await buildWithModality(folder, { name: "reversal", source: fixture }),
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

  test("is served, queued and billed", async () => {
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

  test("is documented in /openapi.json", async () => {
    const { origin } = new URL(service().baseUrl);
    const openapi = (await (await fetch(`${origin}/openapi.json`)).json()) as {
      paths: Record<string, { post?: { requestBody: { content: object } } }>;
    };
    expect(openapi.paths["/reversals"]?.post?.requestBody.content).toMatchObject({
      "application/json": { example: { text: "boat" }, schema: { required: ["model", "text"] } },
    });
  });
});
