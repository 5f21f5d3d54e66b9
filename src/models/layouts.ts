import { genaiDecoder, optimumDecoder } from "./decoder/layout.js";
import { diffusionImage } from "./diffusion/layout.js";
import { bagOfWords } from "./bag-of-words/layout.js";
import { encoder } from "./encoder/layout.js";
import { imageClassifier } from "./image-classifier/layout.js";
import { kokoro } from "./kokoro/layout.js";
import { model2vec } from "./model2vec/layout.js";
import type { Layout, LayoutWishes, Recognised } from "../runtime/packages/layout.js";
import { readModelConfig } from "../runtime/packages/model-config.js";
import type { ModelFolder } from "../runtime/packages/model-folder.js";
import { musicgen } from "./musicgen/layout.js";
import { hfVits, piper } from "./vits/layout.js";
import { wanVideo } from "./wan/layout.js";
import { whisper } from "./whisper/layout.js";

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
