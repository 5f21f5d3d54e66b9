import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ServiceProcesses, startUp } from "./service-processes.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const fixture = fileURLToPath(new URL("../fixtures/eleventh-modality", import.meta.url));
const MODEL = {
  id: "reverser",
  modality: "reversal",
  pipeline: "reversal",
  files: {},
  execution: { providers: ["cpu"], concurrency: 4 },
  shapes: {},
  limits: {},
  memory: null,
  licence: "Apache-2.0",
  source: "made by a test",
  card: "README.md",
};

/** The service with one folder more and one line more; the folder's types are checked with the tests'. */
async function buildWithOneMore(folder: string): Promise<string> {
  const copy = join(folder, "framemill");
  for (const name of ["dist", "proto", "package.json"])
    await cp(join(root, name), join(copy, name), { recursive: true });
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  const modalities = join(copy, "dist/modalities");
  await mkdir(join(modalities, "reversal"));
  for (const name of await readdir(fixture)) {
    const source = await readFile(join(fixture, name), "utf8");
    const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 };
    const { outputText } = ts.transpileModule(source, { compilerOptions });
    await writeFile(join(modalities, "reversal", name.replace(/ts$/, "js")), outputText);
  }
  const line = 'export { reversal } from "./reversal/index.js";\n';
  const index = join(modalities, "index.js");
  await writeFile(index, line + (await readFile(index, "utf8")));
  return join(copy, "dist/bin/framemill.js");
}

describe("an eleventh modality, one folder and one line", () => {
  let folder = "";
  let up: ServiceProcesses | undefined;
  const service = () => {
    if (up === undefined) throw new Error("the service did not start");
    return up;
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-eleventh-"));
    await mkdir(join(folder, "models/reverser"), { recursive: true });
    await writeFile(join(folder, "models/reverser/model.json"), JSON.stringify(MODEL));
    const prices = join(folder, "prices.json");
    await writeFile(prices, JSON.stringify({ reversal: { characters: 50 } }));
    up = await startUp(join(folder, "data"), {
      cliPath: await buildWithOneMore(folder),
      environment: { MODELS_DIR: join(folder, "models"), PRICES_FILE: prices },
    });
  });
  afterAll(async () => {
    await up?.stop();
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
