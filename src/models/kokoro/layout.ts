import { z } from "zod";
import { type Layout, present, requireGraph } from "../../runtime/packages/layout.js";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";

const kokoroConfig = z.object({
  model_type: z.string().nullish(),
  istftnet: z.unknown().optional(),
  plbert: z.unknown().optional(),
});

const KOKORO_RATE_HZ = 24_000;
const VOICE = /^voices\/([\w.+-]+)\.bin$/;
/** One style: 256 float32. */
const STYLE_BYTES = 1_024;

/** Kokoro: model*.onnx, its phoneme vocabulary and one style table a voice. */
export const kokoro: Layout = {
  lookedFor: "Kokoro's config.json or tokenizer.json with voices/<id>.bin and model*.onnx",
  async recognise(folder) {
    const voices = folder.matching(VOICE);
    if (!(await isKokoro(folder, voices))) return undefined;
    if (voices.length === 0)
      throw new Error(
        `${folder.name} has no voices/<id>.bin: merge a folder that has them (--with)`,
      );
    for (const voice of voices) await checkVoice(folder, voice);
    const files = present({
      model: kokoroGraph(folder),
      config: folder.find("config.json"),
      tokenizer: folder.find("tokenizer.json"),
      ...Object.fromEntries(voices.map((path) => [`voice-${voiceId(path)}`, path])),
    });
    const shapes = { sampleRateHz: KOKORO_RATE_HZ, voices: voices.map(voiceId) };
    return { modality: "speech", pipeline: "kokoro", files, slot: "own", shapes };
  },
};

/** By its config, in the hub's or the author's form, or by its voices where the config says nothing. */
async function isKokoro(folder: ModelFolder, voices: readonly string[]): Promise<boolean> {
  const config = await folder.readJson("config.json", kokoroConfig);
  if (config?.model_type === "style_text_to_speech_2") return true;
  if (config?.istftnet !== undefined && config.plbert !== undefined) return true;
  return voices.length > 0 && !config?.model_type;
}

/** `model` in some form, or the only graph that is called after it. */
function kokoroGraph(folder: ModelFolder): string {
  const [only, ...others] = folder.matching(/^(onnx\/)?(kokoro|model)[^/]*\.onnx$/);
  if (only !== undefined && others.length === 0) return only;
  return requireGraph(folder, "model");
}

function voiceId(path: string): string {
  return VOICE.exec(path)?.[1] ?? path;
}

async function checkVoice(folder: ModelFolder, path: string): Promise<void> {
  const byteLength = await folder.byteLength(path);
  if (byteLength > 0 && byteLength % STYLE_BYTES === 0) return;
  throw new Error(
    `${folder.name}/${path} must hold styles of ${STYLE_BYTES} bytes each, has ${byteLength} bytes`,
  );
}
