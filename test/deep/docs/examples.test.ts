import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { probeMedia } from "#framemill/media/probe.js";
import { installPythonPackages } from "../../../scripts/python-packages.mjs";
import { describeWithPython } from "../../support/python.js";
import {
  environmentOf,
  runCommand,
  startProgram,
  startUp,
  type ServiceProcesses,
} from "../../support/service-harness.js";

const example = (name: string) =>
  fileURLToPath(new URL(`../../../examples/${name}`, import.meta.url));

/** What all of them print, one line a call; how well a model answers is for its evaluation to say. */
const LINES = {
  chat: /^chat +\S/,
  completions: /^completions +\S/,
  responses: /^responses +\S/,
  image: /^image .+image\.(png|webp)$/,
  speech: /^speech .+speech\.mp3$/,
  // Its own voice is read back.
  transcription: /^transcription .*\b(red|boat|across|ocean|sun)\b/,
  music: /^music .+music\.mp3/,
  video: /^video .+clip\.mp4/,
  embeddings: /^embeddings +3 vectors of 256 numbers$/,
  rerank: /^rerank .*A red boat sails home\./,
  moderation: /^moderation +fine, fine, fine$/,
};
type Call = keyof typeof LINES;

describe("the examples on the starters", () => {
  let folder = "";
  let up: ServiceProcesses;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-starters-"));
    const environment = { MODELS: "", WEBHOOK_ALLOW_PRIVATE: "true" };
    up = await startUp(join(folder, "data"), { environment });
  });
  afterAll(async () => {
    await up?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** What an example prints, run as its first lines say. */
  async function linesOf(command: readonly string[]): Promise<string[]> {
    const [program = "", ...words] = command;
    const service = { FRAMEMILL_BASE_URL: up.baseUrl, FRAMEMILL_API_KEY: up.apiKey };
    const env = { ...process.env, ...service };
    return (await promisify(execFile)(program, words, { env })).stdout.trim().split("\n");
  }
  const all = Object.keys(LINES) as Call[];
  const linesFor = (calls: readonly Call[]) =>
    calls.map((call) => expect.stringMatching(LINES[call]) as string);

  /** What a receiver answers to a call that nobody signed, and tells of a finished piece of music. */
  async function received(command: readonly string[]) {
    const env = environmentOf(join(folder, "data"), {});
    const secret = await runCommand(["projects", "webhook-secret", "default"], env);
    const receiver = startProgram(command, { ...env, WEBHOOK_SECRET: secret.trim() });
    try {
      const [, port] = await receiver.says(/listening on port (\d+)/);
      const url = `http://127.0.0.1:${port}/`;
      const { status } = await fetch(url, { method: "POST", body: "{}" });
      const piece = { model: "service-music-1", prompt: "a calm piano", seconds: 1 };
      const body = { ...piece, webhook_url: url };
      const { id } = await up.client.post<{ id: string }>("/music", { body });
      const [, printed] = await receiver.says(/music\.completed (\S+)/);
      return { unsigned: status, isVerified: printed === id };
    } finally {
      await receiver.stop("SIGTERM");
    }
  }

  test("TypeScript has an answer of each endpoint", { timeout: 180_000 }, async () => {
    const out = join(folder, "typescript");
    const command = [process.execPath, example("endpoints.mjs"), "--out", out];
    expect(await linesOf(command)).toEqual(linesFor(all));
    expect(await sharp(join(out, "image.png")).metadata()).toMatchObject({ format: "png" });
    expect(await probeMedia(join(out, "music.mp3"))).toMatchObject({
      durationSeconds: expect.closeTo(3, 0),
    });
  });

  test("one that fails says which call it was, and ends with 1", async () => {
    const calls = ["embeddings", "rerank", "--embeddings", "service-rerank-1"];
    const failed = linesOf([process.execPath, example("endpoints.mjs"), ...calls]);
    await expect(failed).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^embeddings +FAILED: 404 no model "service-rerank-1"[^]*\nrerank +near/,
      ),
    });
  });

  test("curl has an answer of each endpoint", { timeout: 180_000 }, async () => {
    const out = join(folder, "curl");
    expect(await linesOf(["bash", example("endpoints.sh"), out])).toEqual(linesFor(all));
    expect(await sharp(join(out, "image.webp")).metadata()).toMatchObject({ format: "webp" });
    expect(await probeMedia(join(out, "clip.mp4"))).toMatchObject({ video: { frameCount: 96 } });
  });

  test("the AI SDK has an answer of what it knows", { timeout: 180_000 }, async () => {
    const known = all.filter((call) => !["music", "video", "moderation"].includes(call));
    const command = [process.execPath, example("ai-sdk.mjs"), join(folder, "ai-sdk")];
    const lines = await linesOf(command);
    expect(lines.filter((line) => !line.startsWith("second turn"))).toEqual(linesFor(known));
    expect(lines).toContainEqual(expect.stringMatching(/^second turn +"/));
  });

  test("a webhook receiver of TypeScript believes what the service signed", async () => {
    const command = [process.execPath, example("webhook.mjs"), "0"];
    expect(await received(command)).toEqual({ unsigned: 400, isVerified: true });
  });

  describeWithPython("with Python", () => {
    let python = "";
    beforeAll(async () => {
      python = join(await installPythonPackages("examples"), "python");
    });

    test("there is an answer of each endpoint", { timeout: 180_000 }, async () => {
      const out = join(folder, "python");
      const command = [python, example("endpoints.py"), out];
      expect(await linesOf(command)).toEqual(linesFor(all));
      expect(await probeMedia(join(out, "clip.mp4"))).toMatchObject({ video: { frameCount: 96 } });
    });

    test("a webhook receiver believes what the service signed", async () => {
      const command = [python, example("webhook.py"), "0"];
      expect(await received(command)).toEqual({ unsigned: 400, isVerified: true });
    });
  });
});
