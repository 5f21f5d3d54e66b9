import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { addModel } from "#framemill/models/add-model.js";
import { openImageModel } from "#framemill/models/image-model.js";
import { loadModelPackage } from "#framemill/runtime/packages/model-package.js";

/** Tiny exports of FLUX.2 klein and Z-Image (scripts/export/qwen_pictures.py). */
const FOLDER = fileURLToPath(new URL("../../fixtures/published", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "framemill-qwen-pictures-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Fields = Record<string, unknown>;

/** Opens a copy of the row whose file was changed; taken away where nothing is left of it. */
async function openChanged(row: string, file: string, change: (fields: Fields) => Fields | null) {
  const id = change.name;
  const copy = join(folder, id);
  cpSync(join(FOLDER, row, "model"), copy, { recursive: true });
  const text = readFileSync(join(copy, file), "utf8");
  const changed = change(file.endsWith(".json") ? (JSON.parse(text) as Fields) : {});
  if (changed === null) rmSync(join(copy, file));
  else writeFileSync(join(copy, file), JSON.stringify(changed));
  const { path: modelPath } = await addModel(copy, { modelsDir: join(folder, "models"), id });
  const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "" };
  const model = await loadModelPackage(modelPath);
  return await openImageModel(model, { modelPath, threads: 1, ...programs });
}

describe("pictures of models that read Qwen3's states", () => {
  const klein = "image-flux-2-klein";

  test("are refused without the statistics of FLUX.2's latents", async () => {
    const bare = (fields: Fields) => ({ ...fields, latents_mean: null });
    await expect(openChanged(klein, "vae_decoder/config.json", bare)).rejects.toThrow(
      "vae_decoder/config.json must have latents_mean and latents_std of 16 channels",
    );
  });

  test("are refused where prompts are filled on the left", async () => {
    const left = (fields: Fields) => ({ ...fields, padding_side: "left" });
    const file = "tokenizer/tokenizer_config.json";
    await expect(openChanged(klein, file, left)).rejects.toThrow("has padding_side left");
  });

  test("are refused without the chat template in which prompts are read", async () => {
    const plain = () => null;
    const template = "tokenizer/chat_template.jinja";
    await expect(openChanged("image-z-image", template, plain)).rejects.toThrow(
      "has no chat template",
    );
  });
});
