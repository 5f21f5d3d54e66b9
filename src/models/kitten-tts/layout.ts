import { z } from "zod";
import { type Layout, requireFile } from "../../runtime/packages/layout.js";
import { readStyleTables } from "../speech/style-tables.js";
import { kittenConfig, kittenVoices } from "./settings.js";

export const KITTEN_RATE_HZ = 24_000;

const anyConfig = z.object({ type: z.unknown().optional(), model_file: z.unknown().optional() });

/** KittenTTS: a graph and an archive of voices, both named by config.json. */
export const kittenTts: Layout = {
  lookedFor: "KittenTTS' config.json with kitten_tts*.onnx and voices.npz",
  async recognise(folder) {
    const stated = await folder.readJson("config.json", anyConfig);
    const isNamed = folder.matching(/^kitten_tts[\w.-]*\.onnx$/).length > 0;
    const isStated = /^ONNX\d$/.test(String(stated?.type)) && stated?.model_file !== undefined;
    if (!isNamed && !isStated) return undefined;
    const config = await folder.readJson("config.json", kittenConfig);
    if (config === undefined)
      throw new Error(
        `${folder.name} has no config.json: it names KittenTTS' graph, its voices and their speeds`,
      );
    const model = requireFile(folder, config.model_file, "config.json names it as the graph");
    const archive = requireFile(folder, config.voices, "config.json names it as the voices");
    const tables = await readStyleTables(folder.absolute(archive), `${folder.name}/${archive}`);
    const files = { model, config: "config.json", voices: archive };
    const shapes = { sampleRateHz: KITTEN_RATE_HZ, voices: kittenVoices(config, tables) };
    return { modality: "speech", pipeline: "kitten-tts", files, slot: "own", shapes };
  },
};
