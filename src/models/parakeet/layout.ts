import { z } from "zod";
import {
  known,
  type Layout,
  present,
  readModelConfig,
  requireFile,
  requireGraph,
  type Recognised,
} from "../../runtime/packages/layout.js";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";
import { JOINT } from "./transducer.js";
import { statedLanguages, voiceDetectorFile } from "../speech-recognition/layout-parts.js";

const parakeetConfig = z.object({
  encoder_config: z.object({
    num_mel_bins: z.int().default(80),
    subsampling_factor: z.int().default(8),
  }),
});
const nemoConfig = z.object({
  features_size: z.int().nullish(),
  subsampling_factor: z.int().nullish(),
});

/** NVIDIA's FastConformer with a CTC or a transducer's head, as transformers or NeMo export it. */
export const parakeet: Layout = {
  lookedFor:
    "config.json of ParakeetForCTC with onnx/model.onnx, or NeMo's model.onnx, or encoder-model.onnx with decoder_joint-model.onnx, of audio_signal, with vocab.txt or tokens.txt",
  recognise: async (folder) => (await fromTransformers(folder)) ?? (await fromNemo(folder)),
};

async function fromTransformers(folder: ModelFolder): Promise<Recognised | undefined> {
  const config = await readModelConfig(folder);
  if (config?.architectures?.[0] !== "ParakeetForCTC") return undefined;
  const { encoder_config: encoder } =
    (await folder.readJson("config.json", parakeetConfig)) ??
    parakeetConfig.parse({ encoder_config: {} });
  const files = {
    model: requireGraph(folder, "model"),
    config: "config.json",
    tokenizer: requireFile(folder, "tokenizer.json", "it lists the pieces of words"),
  };
  const shapes = { melBins: encoder.num_mel_bins, framesPerStep: encoder.subsampling_factor };
  return await described(folder, files, shapes);
}

async function fromNemo(folder: ModelFolder): Promise<Recognised | undefined> {
  const tokens = folder.find("vocab.txt", "tokens.txt");
  const graphs = nemoGraphs(folder);
  const graph = graphs["model"] ?? graphs["encoder"];
  if (graph === undefined || tokens === undefined) return undefined;
  const { inputs, metadata } = folder.outline(graph);
  const signal = inputs.find(({ name }) => name === "audio_signal");
  if (signal === undefined) return undefined;
  refuseOtherFeatures(folder, metadata);
  const config = await folder.readJson("config.json", nemoConfig);
  const [, bins] = signal.dims;
  const stated = Number(metadata["subsampling_factor"] ?? config?.subsampling_factor ?? 8);
  return await described(
    folder,
    { ...graphs, tokens },
    {
      melBins: typeof bins === "number" ? bins : (config?.features_size ?? 80),
      framesPerStep: stated,
    },
  );
}

/** With a CTC head one graph; with a transducer's an encoder beside it, as onnx-asr names them. */
function nemoGraphs(folder: ModelFolder): Readonly<Record<string, string>> {
  const find = (base: string) => folder.find(`${base}.onnx`, `${base}.int8.onnx`);
  const [encoder, joint] = [find("encoder-model"), find("decoder_joint-model")];
  if (encoder !== undefined && joint !== undefined) return { encoder, [JOINT]: joint };
  return present({ model: find("model") });
}

function refuseOtherFeatures(
  { name }: ModelFolder,
  metadata: Readonly<Record<string, string>>,
): void {
  const {
    is_giga_am: gigaAm,
    normalize_type: normalised = "per_feature",
    window_size: window,
  } = metadata;
  if (gigaAm === "1")
    throw new Error(
      `${name} is GigaAM, whose features are not made here: of NeMo's CTC models, those of FastConformer are served`,
    );
  if (window !== undefined && Number(window) > 1)
    throw new Error(
      `${name} was exported for streams, chunk by chunk: the export of whole sounds is served`,
    );
  if (normalised !== "per_feature")
    throw new Error(
      `${name} was trained on features normalised by ${normalised || "nothing"}: per_feature is served`,
    );
}

async function described(
  folder: ModelFolder,
  files: Readonly<Record<string, string>>,
  sizes: { readonly melBins: number; readonly framesPerStep: number },
): Promise<Recognised> {
  const { languages, notes } = await statedLanguages(folder);
  return {
    modality: "transcription",
    pipeline: "parakeet",
    files: present({ ...files, ...voiceDetectorFile(folder) }),
    shapes: known({ ...sizes, languages }),
    notes,
  };
}
