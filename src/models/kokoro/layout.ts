import { z } from "zod";
import { type Layout, present, requireGraph } from "../../runtime/packages/layout.js";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";
import { readStyleTables } from "../speech/style-tables.js";

const kokoroConfig = z.object({
  model_type: z.string().nullish(),
  istftnet: z.unknown().optional(),
  plbert: z.unknown().optional(),
});

const KOKORO_RATE_HZ = 24_000;
const VOICE = /^voices\/([\w.+-]+)\.bin$/;
/** All voices in one, as kokoro-onnx has them. */
const ARCHIVE = /^voices[\w.-]*\.(npz|bin)$/;
const NAMED_GRAPH = /^(onnx\/)?kokoro[\w.-]*\.onnx$/;
/** One style: 256 float32. */
const STYLE_BYTES = 1_024;

/** Kokoro: its graph, its phoneme vocabulary, and a style table a voice or one archive of them. */
export const kokoro: Layout = {
  lookedFor:
    "Kokoro's config.json or tokenizer.json with voices/<id>.bin and model*.onnx, or kokoro*.onnx with voices*.bin",
  async recognise(folder) {
    const voices = folder.matching(VOICE);
    const [archive] = voices.length > 0 ? [] : folder.matching(ARCHIVE);
    if (!(await isKokoro(folder, voices, archive))) return undefined;
    if (voices.length === 0 && archive === undefined)
      throw new Error(
        `${folder.name} has no voices/<id>.bin: merge a folder that has them (--with)`,
      );
    for (const voice of voices) await checkVoice(folder, voice);
    const files = present({
      model: kokoroGraph(folder),
      config: folder.find("config.json"),
      tokenizer: folder.find("tokenizer.json"),
      voices: archive,
      ...Object.fromEntries(voices.map((path) => [`voice-${voiceId(path)}`, path])),
    });
    refuseOtherVocabulary(folder, files);
    const ids = archive === undefined ? voices.map(voiceId) : await archivedVoices(folder, archive);
    const shapes = { sampleRateHz: KOKORO_RATE_HZ, voices: ids };
    return { modality: "speech", pipeline: "kokoro", files, slot: "own", shapes };
  },
};

/** By its config, in the hub's or the author's form, or by its files where the config says nothing. */
async function isKokoro(
  folder: ModelFolder,
  voices: readonly string[],
  archive: string | undefined,
): Promise<boolean> {
  const config = await folder.readJson("config.json", kokoroConfig);
  if (config?.model_type === "style_text_to_speech_2") return true;
  if (config?.istftnet !== undefined && config.plbert !== undefined) return true;
  if (voices.length > 0) return !config?.model_type;
  return archive !== undefined && folder.matching(NAMED_GRAPH).length > 0;
}

/** The Chinese model has other symbols than those that a folder without a vocabulary is read by. */
function refuseOtherVocabulary(
  folder: ModelFolder,
  { model = "", config, tokenizer }: Readonly<Record<string, string>>,
): void {
  if (config !== undefined || tokenizer !== undefined || !/[-_.]zh/.test(model)) return;
  if (folder.outline(model).metadata["kokoro_config"] !== undefined) return;
  throw new Error(`${folder.name} has no config.json: ${model} reads symbols of its own`);
}

async function archivedVoices(folder: ModelFolder, archive: string): Promise<string[]> {
  const file = `${folder.name}/${archive}`;
  return [...(await readStyleTables(folder.absolute(archive), file)).keys()];
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
