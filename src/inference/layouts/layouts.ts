import { genaiDecoder, optimumDecoder } from "./decoder-text.js";
import { diffusionImage } from "./diffusion-image.js";
import { bagOfWords } from "./bag-of-words.js";
import { encoder } from "./encoder.js";
import { imageClassifier } from "./image-classifier.js";
import { kokoro } from "./kokoro.js";
import { model2vec } from "./model2vec.js";
import type { Layout, LayoutWishes, Recognised } from "./layout.js";
import { readModelConfig } from "./model-config.js";
import type { ModelFolder } from "./model-folder.js";
import { musicgen } from "./musicgen.js";
import { hfVits, piper } from "./vits.js";
import { wanVideo } from "./wan-video.js";
import { whisper } from "./whisper.js";

/** In the order in which they are tried: what names itself comes before what has to be guessed. */
const LAYOUTS: readonly Layout[] = [
  genaiDecoder,
  wanVideo,
  diffusionImage,
  piper,
  kokoro,
  whisper,
  musicgen,
  hfVits,
  model2vec,
  optimumDecoder,
  imageClassifier,
  encoder,
  bagOfWords,
];

/** What the folder is. Throws a sentence that lists what was looked for. */
export async function recognise(folder: ModelFolder, wishes: LayoutWishes): Promise<Recognised> {
  for (const layout of LAYOUTS) {
    const found = await layout.recognise(folder, wishes);
    if (found !== undefined) return found;
  }
  throw new Error(await explain(folder));
}

async function explain(folder: ModelFolder): Promise<string> {
  if (folder.has("vae_decoder/model.onnx"))
    return `${folder.name} is a bare autoencoder: it decodes latents, but there is no model_index.json with a denoiser that makes them`;
  const config = await readModelConfig(folder).catch(() => undefined);
  const [architecture = config?.model_type] = config?.architectures ?? [];
  const said = architecture ? `: its config.json says ${architecture}, which is not served` : "";
  const list = LAYOUTS.map(({ lookedFor }) => `  ${lookedFor}`).join("\n");
  return `${folder.name} is in no layout that is read${said}. Looked for:\n${list}`;
}
