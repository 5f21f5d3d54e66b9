import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import sharp from "sharp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addModel } from "#framemill/models/add-model.js";
import { probeMedia } from "#framemill/media/probe.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";
import { type ServiceProcesses, startUp } from "../../support/service-harness.js";

const EXAMPLE = fileURLToPath(new URL("../../../examples/endpoints.mjs", import.meta.url));
const MOTION = fileURLToPath(new URL("../../../models/service-motion-1", import.meta.url));

/** Option of the example → folder of a published model; random weights where no small real one is. */
const PUBLISHED = {
  chat: "chat-stories260K",
  image: "tiny-official/image-sd15",
  speech: "tiny-official/tts-kokoro",
  transcription: "tiny-official/asr-whisper",
  music: "tiny-official/music-musicgen",
  embeddings: "tiny-official/embed-bert",
  rerank: "tiny-official/rerank-bert",
  moderation: "moderation-profanity-check",
} as const;

/** Runs the example against a service; its lines. */
async function runExample(up: ServiceProcesses, words: readonly string[]): Promise<string[]> {
  const env = { ...process.env, FRAMEMILL_BASE_URL: up.baseUrl, FRAMEMILL_API_KEY: up.apiKey };
  const { stdout } = await promisify(execFile)(process.execPath, [EXAMPLE, ...words], { env });
  return stdout.trim().split("\n");
}

async function addModels(modelsDir: string): Promise<void> {
  for (const [id, name] of Object.entries(PUBLISHED)) {
    const source =
      id === "transcription" ? await shortWhisper(name, modelsDir) : publishedModel(name);
    const extra = id === "speech" ? [publishedModel("tts-kokoro-voices")] : [];
    await addModel(source, { modelsDir, id, extra });
  }
  const isPackage = (path: string) => !path.includes("train");
  await cp(MOTION, join(modelsDir, "video"), { recursive: true, filter: isPackage });
}

/** Random weights never end a text by themselves: 448 tokens at each of six temperatures. */
async function shortWhisper(name: string, modelsDir: string): Promise<string> {
  const source = join(modelsDir, "..", "whisper");
  const isPublished = (path: string) => !path.includes("golden");
  await cp(publishedModel(name), source, { recursive: true, filter: isPublished });
  const config = JSON.parse(await readFile(join(source, "config.json"), "utf8")) as object;
  const short = JSON.stringify({ ...config, max_target_positions: 48 });
  await writeFile(join(source, "config.json"), short);
  return source;
}

describeWithModels("the example of all endpoints, on a service of published models", () => {
  let folder = "";
  let up: ServiceProcesses;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-examples-"));
    await addModels(join(folder, "models"));
    const environment = { MODELS_DIR: join(folder, "models") };
    up = await startUp(join(folder, "data"), { environment });
  });
  afterAll(async () => {
    await up.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test("has an answer of each, and files that play", { timeout: 120_000 }, async () => {
    const out = join(folder, "out");
    const models = Object.keys(PUBLISHED).flatMap((id) => [`--${id}`, id]);
    const lines = await runExample(up, [...models, "--out", out]);
    expect(lines).toEqual([
      expect.stringMatching(/^chat +32 tokens: ".+"$/),
      expect.stringMatching(/^completions +".+"$/),
      expect.stringMatching(/^responses +".+", then ".+"$/),
      expect.stringMatching(/^image .+partial-0\.png, .+partial-1\.png, .+image\.png$/),
      expect.stringMatching(/^speech .+speech\.mp3$/),
      expect.stringMatching(/^transcription +heard: /),
      expect.stringMatching(/^music .+music\.mp3, \$0\.006$/),
      expect.stringMatching(/^video .+clip\.mp4, \$0\.72$/),
      expect.stringMatching(/^embeddings +3 vectors of 32 numbers$/),
      expect.stringMatching(/^rerank +nearest: .+ \([01]\.\d{3}\)$/),
      expect.stringMatching(/^moderation +fine, fine, fine$/),
    ]);
    // Native size of the model: 16 latents of 8 pixels.
    const picture = await sharp(join(out, "image.png")).metadata();
    expect(picture).toMatchObject({ format: "png", width: 128, height: 128 });
    expect(await probeMedia(join(out, "speech.mp3"))).toMatchObject({ audio: { codec: "mp3" } });
    expect(await probeMedia(join(out, "music.mp3"))).toMatchObject({
      durationSeconds: expect.closeTo(3, 0),
      audio: { codec: "mp3" },
    });
    expect(await probeMedia(join(out, "clip.mp4"))).toMatchObject({
      durationSeconds: expect.closeTo(4, 1),
      video: { frameCount: 96 },
      audio: { codec: "aac" },
    });
  });
});
