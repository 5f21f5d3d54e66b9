import { z } from "zod";
import {
  decoderFiles,
  type Layout,
  present,
  readModelConfig,
  requireFile,
  requireGraph,
  tokenizerFiles,
} from "../../runtime/packages/layout.js";

const settings = z.object({
  audio_encoder: z.object({
    sampling_rate: z.int().positive(),
    upsampling_ratios: z.array(z.int().positive()).min(1),
    audio_channels: z.int().positive().default(1),
  }),
  decoder: z.object({
    num_codebooks: z.int().positive(),
    max_position_embeddings: z.int().positive(),
    audio_channels: z.int().positive().default(1),
  }),
});

/** Beyond the window that the decoder was trained on, pieces are continued window by window. */
const MAX_SECONDS = 60;

/** Optimum's MusicGen: text encoder, decoder of four codebooks, EnCodec decoder. */
export const musicgen: Layout = {
  lookedFor: 'config.json of model_type "musicgen" with onnx/encodec_decode.onnx',
  async recognise(folder) {
    if ((await readModelConfig(folder))?.model_type !== "musicgen") return undefined;
    const config = await folder.readJson("config.json", settings);
    if (config === undefined) return undefined;
    const files = present({
      "text-encoder": requireGraph(folder, "text_encoder"),
      ...decoderFiles(folder),
      "audio-decoder": requireGraph(folder, "encodec_decode"),
      config: "config.json",
      "generation-config": requireFile(
        folder,
        "generation_config.json",
        "it holds the guidance scale",
      ),
      ...tokenizerFiles(folder),
    });
    const { sampling_rate: sampleRateHz, upsampling_ratios } = config.audio_encoder;
    const frameRateHz =
      sampleRateHz / upsampling_ratios.reduce((product, ratio) => product * ratio, 1);
    const { num_codebooks, audio_channels } = config.decoder;
    const shapes = {
      sampleRateHz,
      frameRateHz,
      codebooks: num_codebooks,
      channels: audio_channels,
    };
    return {
      modality: "music",
      pipeline: "musicgen",
      files,
      shapes,
      limits: { maxSeconds: MAX_SECONDS },
    };
  },
};
