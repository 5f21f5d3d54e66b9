import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildWithArchitecture } from "../support/build-with-modality.js";
import { runCommand } from "../support/service-harness.js";

describe("an architecture, one folder and one row of the registry", () => {
  let folder = "";
  let cliPath = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-architecture-"));
    cliPath = await buildWithArchitecture(folder, {
      name: "letters",
      source: fileURLToPath(new URL("../fixtures/toy-architecture", import.meta.url)),
      lines: [
        'import { letters } from "./letters/layout.js";',
        '{ pipeline: "letters", layout: letters, embeddings: async () => (await import("./letters/open.js")).openLetters },',
      ],
    });
    await mkdir(join(folder, "published"));
    await writeFile(join(folder, "published/letters.json"), JSON.stringify({ letters: "abct" }));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test("is recognised, made a package and opened by models add", async () => {
    const env = { ...process.env, MODELS_DIR: join(folder, "models") };
    const said = await runCommand(
      ["models", "add", join(folder, "published"), "--id", "toy"],
      env,
      cliPath,
    );
    expect(said).toMatch(/^toy: embeddings \(letters, 1000 tokens\).*the canary took/);
  });
});
