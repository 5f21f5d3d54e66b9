import { dirname } from "node:path";
import type { PipelineSetup } from "../core/modality.js";
import {
  EMBEDDING_OUTPUTS,
  type Layout,
  type LayoutWishes,
  type ModelConfig,
  readModelConfig,
  type Recognised,
} from "../runtime/packages/layout.js";
import type { ModelFolder } from "../runtime/packages/model-folder.js";
import type { ModelPackage } from "../runtime/packages/model-package.js";
import { bagOfWords } from "./bag-of-words/layout.js";
import { genaiDecoder, multimodalDecoder, optimumDecoder } from "./decoder/layout.js";
import type { TextEngine } from "./decoder/open.js";
import { diffusionImage } from "./diffusion/layout.js";
import { encoder } from "./encoder/layout.js";
import type { TextEmbedder } from "./encoder/text-embedder.js";
import type { TextGuard } from "./guarding/text-guard.js";
import { imageClassifier } from "./image-classifier/layout.js";
import type { ImageModel } from "./image-model.js";
import { kittenTts } from "./kitten-tts/layout.js";
import { kokoro } from "./kokoro/layout.js";
import { ltxVideo } from "./ltx/layout.js";
import { model2vec } from "./model2vec/layout.js";
import { moonshine } from "./moonshine/layout.js";
import type { MusicModel } from "./music/music-model.js";
import { musicgen } from "./musicgen/layout.js";
import { parakeet } from "./parakeet/layout.js";
import { piper } from "./piper/layout.js";
import { senseVoice } from "./sense-voice/layout.js";
import type { TranscriptionModel } from "./speech-recognition/transcription-model.js";
import type { Reranker } from "./reranking/reranker.js";
import type { SpeechModel } from "./speech/speech-model.js";
import { supertonic } from "./supertonic/layout.js";
import type { VideoModel } from "./video/video-model.js";
import { hfVits } from "./vits/layout.js";
import { wanVideo } from "./wan/layout.js";
import { wav2vec2 } from "./wav2vec2/layout.js";
import { whisper } from "./whisper/layout.js";

/** What an open package is, by the modality that it serves. */
interface OpenModels {
  readonly chat: TextEngine;
  readonly embeddings: TextEmbedder;
  readonly image: ImageModel;
  readonly moderation: TextGuard;
  readonly music: MusicModel;
  readonly rerank: Reranker;
  readonly speech: SpeechModel;
  readonly transcription: TranscriptionModel;
  readonly video: VideoModel;
}

type Kind = keyof OpenModels;

/** Throws an error that names what is missing, unknown or does not load. */
type Open<Model> = (model: ModelPackage, setup: PipelineSetup) => Promise<Model>;

/** One architecture. Its code is loaded when a package of it is opened. */
interface Architecture extends Loaders {
  /** `pipeline` of model.json. */
  readonly pipeline: string;
  /** How published files of it are recognised; absent where packages of it are only made here. */
  readonly layout?: Layout;
}

type Loaders = { readonly [K in Kind]?: () => Promise<Open<OpenModels[K]>> };

/** In the order in which layouts are tried: what names itself comes before what has to be guessed. */
const ARCHITECTURES: readonly Architecture[] = [
  {
    pipeline: "decoder-text",
    layout: genaiDecoder,
    chat: async () => (await import("./decoder/open.js")).openTextEngine,
    rerank: async () => (await import("./decoder/rerank.js")).openDecoderReranker,
    moderation: async () => (await import("./decoder/guard.js")).openDecoderGuard,
  },
  {
    pipeline: "wan-video",
    layout: wanVideo,
    video: async () => (await import("./wan/open.js")).openWan,
  },
  {
    pipeline: "ltx-video",
    layout: ltxVideo,
    video: async () => (await import("./ltx/open.js")).openLtx,
  },
  { pipeline: "flow-video", video: async () => (await import("./motion/open.js")).openMotion },
  {
    pipeline: "diffusion-image",
    layout: diffusionImage,
    image: async () => (await import("./image-model.js")).openImageModel,
  },
  {
    pipeline: "vits",
    layout: piper,
    speech: async () => (await import("./piper/open.js")).openPiper,
  },
  {
    pipeline: "supertonic",
    layout: supertonic,
    speech: async () => (await import("./supertonic/open.js")).openSupertonic,
  },
  {
    pipeline: "kitten-tts",
    layout: kittenTts,
    speech: async () => (await import("./kitten-tts/open.js")).openKittenTts,
  },
  {
    pipeline: "kokoro",
    layout: kokoro,
    speech: async () => (await import("./kokoro/open.js")).openKokoro,
  },
  {
    pipeline: "whisper",
    layout: whisper,
    transcription: async () => (await import("./whisper/open.js")).openWhisper,
  },
  {
    pipeline: "wav2vec2",
    layout: wav2vec2,
    transcription: async () => (await import("./wav2vec2/open.js")).openWav2vec2,
  },
  {
    pipeline: "parakeet",
    layout: parakeet,
    transcription: async () => (await import("./parakeet/open.js")).openParakeet,
  },
  {
    pipeline: "moonshine",
    layout: moonshine,
    transcription: async () => (await import("./moonshine/open.js")).openMoonshine,
  },
  {
    pipeline: "sense-voice",
    layout: senseVoice,
    transcription: async () => (await import("./sense-voice/open.js")).openSenseVoice,
  },
  { pipeline: "ctc", transcription: async () => (await import("./ctc/open.js")).openCtc },
  {
    pipeline: "musicgen",
    layout: musicgen,
    music: async () => (await import("./musicgen/open.js")).openMusicgen,
  },
  { pipeline: "score", music: async () => (await import("./score/open.js")).openScore },
  {
    pipeline: "hf-vits",
    layout: hfVits,
    speech: async () => (await import("./vits/open.js")).openHfVits,
  },
  {
    pipeline: "model2vec",
    layout: model2vec,
    embeddings: async () => (await import("./model2vec/open.js")).openStaticEmbedder,
  },
  { pipeline: "decoder-text", layout: optimumDecoder },
  { pipeline: "decoder-text", layout: multimodalDecoder },
  { pipeline: "image-classifier", layout: imageClassifier },
  {
    pipeline: "encoder",
    layout: encoder,
    embeddings: async () => (await import("./encoder/text-embedder.js")).openEncoderEmbedder,
    rerank: async () => (await import("./encoder/rerank.js")).openEncoderReranker,
  },
  { pipeline: "bag-of-words", layout: bagOfWords },
];

/** Opens a package for a modality, by the architecture that its model.json names. */
export async function openModel<K extends Kind>(
  kind: K,
  model: ModelPackage,
  setup: PipelineSetup,
): Promise<OpenModels[K]> {
  const loaders: Loaders = ARCHITECTURES.find((it) => it.pipeline === model.pipeline) ?? {};
  const load = loaders[kind];
  if (load !== undefined) return await (await load())(model, setup);
  const known = ARCHITECTURES.filter((it) => it[kind] !== undefined).map((it) => it.pipeline);
  throw new Error(
    `${model.path}/model.json: pipeline of a model for ${kind} must be one of ${known.join(", ")}, got ${model.pipeline}`,
  );
}

/** What the folder is. Throws a sentence that lists what was looked for. */
export async function recognise(folder: ModelFolder, wishes: LayoutWishes): Promise<Recognised> {
  for (const { layout } of ARCHITECTURES) {
    const found = await layout?.recognise(folder, wishes);
    if (found === undefined) continue;
    const { modality, pipeline } = found;
    if (wishes.modality !== undefined && wishes.modality !== modality)
      throw new Error(
        `${folder.name} cannot be taken as ${wishes.modality}: its files are those of a model for ${modality} (${pipeline})`,
      );
    refuseUnmetPooling(folder, wishes, found);
    return found;
  }
  throw new Error(await explain(folder));
}

function refuseUnmetPooling(
  { name }: ModelFolder,
  { pooling }: LayoutWishes,
  { modality, pipeline, shapes }: Recognised,
): void {
  if (pooling === undefined || shapes?.["pooling"] !== undefined) return;
  throw new Error(
    `--pooling ${pooling} is for text encoders that make embeddings: ${name} is ${modality} (${pipeline})`,
  );
}

async function explain(folder: ModelFolder): Promise<string> {
  const config = await readModelConfig(folder).catch(() => undefined);
  const near = partsMiss(folder) ?? (config && architectureMiss(folder, config));
  if (near !== undefined) return near;
  const list = ARCHITECTURES.flatMap(({ layout }) => (layout ? [`  ${layout.lookedFor}`] : []));
  return `${folder.name} is in no layout that is read. Looked for:\n${list.join("\n")}`;
}

/** What the folder's files nearly are. */
function partsMiss(folder: ModelFolder): string | undefined {
  const { name } = folder;
  if (folder.has("vae_decoder/model.onnx"))
    return `${name} is a bare autoencoder: it decodes latents, but there is no model_index.json with a denoiser that makes them`;
  const genai = folder.matching(/\/genai_config\.json$/).map(dirname);
  if (genai.length === 1)
    return `${name} keeps a model of ONNX Runtime GenAI further down: add its folder ${genai[0]}`;
  if (genai.length > 1)
    return `${name} keeps ${genai.length} models of ONNX Runtime GenAI further down: add one of its folders ${genai.join(", ")}`;
  const [, sound] =
    OTHER_SOUND_MODELS.find(([files]) => files.every((one) => folder.matching(one).length > 0)) ??
    [];
  if (sound !== undefined) return `${name} ${sound}`;
  return undefined;
}

/** Sound models that are packed otherwise than those that are served. */
const OTHER_SOUND_MODELS: readonly (readonly [readonly RegExp[], string])[] = [
  [
    [/(^|\/)encoder[\w.-]*\.onnx$/, /(^|\/)joiner[\w.-]*\.onnx$/],
    "is a transducer in three graphs, as sherpa-onnx has it: of transducers NeMo's are served, with encoder-model.onnx and decoder_joint-model.onnx",
  ],
  [
    [/(^|\/)uncached_decode[\w.-]*\.onnx$/],
    "is Moonshine in four graphs: the export with onnx/encoder_model.onnx and onnx/decoder_model_merged.onnx is served",
  ],
  [
    [/^model[\w.-]*\.onnx$/, /^voices\.bin$/, /^tokens\.txt$/],
    "is a voice as sherpa-onnx packs it: Kokoro and KittenTTS are read as their authors publish them",
  ],
  [
    [/(^|\/)encoder-model[\w.-]*\.onnx$/, /(^|\/)decoder-model[\w.-]*\.onnx$/],
    "is NeMo's Canary, which is not served: of NeMo's recognisers those with a CTC head (model.onnx) or a transducer (decoder_joint-model.onnx) are",
  ],
];

/** Words of architectures' names, and what is served of their kind. The first that fits is meant. */
const KINDS = [
  [
    /CTC|Speech|Moonshine|Wav2Vec|Hubert|Parakeet|Audio/,
    "of speech recognisers Whisper, Moonshine, SenseVoice, wav2vec2, HuBERT and Parakeet are",
  ],
  [
    /TextTo(Waveform|Speech)|Bark|Parler/,
    "of voices Kokoro, KittenTTS, Supertonic, Piper and VITS are",
  ],
  [/CLIP|Siglip/i, "of encoders those of texts alone are, with onnx/model.onnx"],
  [
    /Depth|Detection|Segmentation|Vision|ViT|Swin|Image/,
    "of models that read pictures classifiers are, …ForImageClassification",
  ],
  [
    /ConditionalGeneration|Seq2Seq|T5|Bart|Marian/,
    "of models that write text causal ones are, …ForCausalLM with onnx/model.onnx",
  ],
] as const;

function architectureMiss(
  folder: ModelFolder,
  { architectures, model_type: type }: ModelConfig,
): string {
  const [architecture] = architectures ?? [];
  if (architecture === undefined)
    return `${folder.name}: its config.json${type ? ` of ${type}` : ""} names no architectures, which say what the graph is for, such as …ForCausalLM, …Model or …ForSequenceClassification`;
  const graph = folder.findGraph("model", "encoder_model");
  const outputs = graph === undefined ? [] : folder.outline(graph).outputs.map((one) => one.name);
  if (/(Model|ForMaskedLM)$/.test(architecture) && graph !== undefined)
    return `${folder.name}: ${graph} gives ${outputs.join(", ")}; the graph of a text encoder (its config.json says ${architecture}) gives ${[...EMBEDDING_OUTPUTS].join(", ")} or, with labels, logits`;
  const [, served] = KINDS.find(([words]) => words.test(architecture)) ?? [];
  const instead = served ?? "docs/models.md lists what is";
  return `${folder.name}: its config.json says ${architecture}, which is not served; ${instead}`;
}
