import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installPythonPackages } from "../../../scripts/python-packages.mjs";
import { describeWithPython } from "../../support/python.js";
import { startUp, type ServiceProcesses } from "../../support/service-harness.js";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../..", import.meta.url));
const here = fileURLToPath(new URL(".", import.meta.url));
const tool = (name: string) => join(root, "node_modules", ".bin", name);

/** Seconds that generated requests are sent for. */
const FUZZ_SECONDS = 60;

/** The starters, and what `createVideo` and the others of a generated client bring from them. */
const ANSWERS = {
  models: [
    "service-chat-1",
    "service-embed-1",
    "service-image-1",
    "service-moderate-1",
    "service-motion-1",
    "service-music-1",
    "service-rerank-1",
    "service-transcribe-1",
    "service-voice-1",
  ],
  chat: expect.stringMatching(/\w/),
  completion: expect.stringMatching(/\w/),
  response: [true, "message", "message", true],
  embeddings: [256, 256],
  rerank: [
    [1, { text: "a red boat" }],
    [1, null],
  ],
  moderation: [false],
  // PNG in base64.
  image: "iVBORw0K",
  speech: expect.stringMatching(/^RIFF.{4}WAVE$/s),
  // Its own voice is read back.
  transcription: expect.stringMatching(/\b(red|boat|across|ocean)\b/),
  music: ["completed", "ID3"],
  video: ["completed", "ftyp", "video/mp4", 0.32],
  list: [true, true],
  missing: [404, "video_not_found"],
  cancelled: "cancelled",
};

interface Described {
  readonly paths: Record<string, { post?: { requestBody?: { content: Record<string, Media> } } }>;
  readonly components: { schemas: Record<string, { properties?: Record<string, unknown> }> };
}
interface Media {
  readonly schema: { readonly $ref: string };
}

describe("clients that are generated from the service's own description", () => {
  let folder = "";
  let data = "";
  let up: ServiceProcesses;
  let origin = "";
  let calls: NodeJS.ProcessEnv;
  beforeAll(async () => {
    // Below the checkout, so that what is compiled finds the packages.
    await mkdir(join(root, ".cache"), { recursive: true });
    folder = await mkdtemp(join(root, ".cache", "openapi-"));
    data = await mkdtemp(join(tmpdir(), "framemill-openapi-"));
    const many = String(1e8);
    up = await startUp(data, {
      environment: {
        MODELS: "",
        REQUESTS_PER_MINUTE: many,
        TOKENS_PER_MINUTE: many,
        TRUST_PROXY: "127.0.0.1",
      },
    });
    ({ origin } = new URL(up.baseUrl));
    const blue = { width: 64, height: 64, channels: 3 as const, background: "blue" };
    const picture = await sharp({ create: blue }).png().toBuffer();
    const PICTURE = picture.toString("base64");
    calls = { ...process.env, ORIGIN: origin, KEY: up.apiKey, PICTURE };
  });
  afterAll(async () => {
    await up?.stop();
    for (const place of [folder, data]) await rm(place, { recursive: true, force: true });
  });

  const document = () => `${origin}/openapi.json`;
  const readDocument = async () => (await (await fetch(document())).json()) as Described;
  /** A program's answer, which it prints as JSON. */
  async function answerOf(program: string, words: readonly string[], env: NodeJS.ProcessEnv) {
    return JSON.parse((await run(program, words, { cwd: folder, env })).stdout) as unknown;
  }

  /** Compiles what was generated in a folder with the calls to it, and runs them. */
  async function compileAndCall(name: string): Promise<unknown> {
    const place = join(folder, name);
    await copyFile(join(here, "calls", `${name}.ts`), join(place, `${name}.ts`));
    await writeFile(join(place, "package.json"), JSON.stringify({ type: "module" }));
    await writeFile(
      join(place, "tsconfig.json"),
      JSON.stringify({
        extends: "@tsconfig/node20/tsconfig.json",
        compilerOptions: { lib: ["es2023", "dom", "dom.iterable"], outDir: "out" },
      }),
    );
    await run(tool("tsc"), ["-p", place]);
    return await answerOf(process.execPath, [join(place, "out", `${name}.js`)], calls);
  }

  test("openapi-typescript's types compile, and every endpoint answers by them", async () => {
    await run(tool("openapi-typescript"), [document(), "-o", join(folder, "fetch/schema.d.ts")]);
    expect(await compileAndCall("fetch")).toEqual(ANSWERS);
  });

  test("hey-api's client compiles, and every endpoint answers it", async () => {
    const words = ["-i", document(), "-o", join(folder, "hey/hey"), "--no-log-file"];
    await run(tool("openapi-ts"), words, { cwd: folder });
    expect(await compileAndCall("hey")).toEqual(ANSWERS);
  });

  describeWithPython("in Python", () => {
    let python = "";
    let env: NodeJS.ProcessEnv;
    beforeAll(async () => {
      python = join(await installPythonPackages("openapi"), "python");
      env = { ...calls, PYTHONPATH: [folder, here].join(":"), PYTHONDONTWRITEBYTECODE: "1" };
    });

    test("openapi-python-client's package imports, and every endpoint answers it", async () => {
      const output = ["--meta", "none", "--output-path", join(folder, "framemill_client")];
      const config = ["--config", join(here, "openapi-python-client.yaml"), "--fail-on-warning"];
      const words = ["generate", "--url", document(), ...output, ...config];
      await run(python, ["-m", "openapi_python_client", ...words], { cwd: folder, env });
      expect(await answerOf(python, [join(here, "calls/python.py")], env)).toEqual(ANSWERS);
    });

    test(
      "requests that schemathesis generates are answered as the description says",
      { timeout: 600_000 },
      async () => {
        const config = ["--config-file", join(here, "schemathesis.toml")];
        const bounds = ["--max-time", String(FUZZ_SECONDS), "--no-color", "--warnings", "off"];
        const key = ["--header", `Authorization: Bearer ${up.apiKey}`];
        const words = [...config, "run", document(), ...bounds, ...key];
        const { stdout } = await run(python, ["-m", "schemathesis.cli", ...words], {
          cwd: folder,
          env: { ...env, NAMES: await realNames() },
          maxBuffer: 1e9,
        }).catch((failed: { stdout: string }) => {
          const found = failed.stdout.search(/^=+ (FAILURES|ERRORS) =+$/m);
          throw new Error(failed.stdout.slice(found, found + 20_000));
        });
        const [, cases] = /(\d+) generated, \1 passed/.exec(stdout) ?? [];
        const { paths } = await readDocument();
        expect(Number(cases)).toBeGreaterThan(Object.values(paths).flatMap(Object.keys).length);
      },
    );

    /** Of each request the model that serves it, and a voice that every model of speech has. */
    async function realNames(): Promise<string> {
      const described = await readDocument();
      const models = await up.client.models.list();
      const names: Record<string, Record<string, unknown>> = {};
      for (const [path, { post }] of Object.entries(described.paths))
        for (const { schema } of Object.values(post?.requestBody?.content ?? {})) {
          const name = schema.$ref.split("/").at(-1) ?? "";
          const serving = models.data.find((model) =>
            (model as unknown as { endpoints: string[] }).endpoints.includes(`/v1${path}`),
          );
          if (serving !== undefined) names[name] = { model: { const: serving.id } };
          if ("voice" in (described.components.schemas[name]?.properties ?? {}))
            names[name] = { ...names[name], voice: { const: "alloy" } };
        }
      return JSON.stringify(names);
    }
  });
});
