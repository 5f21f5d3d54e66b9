import type { ModelFolder } from "../../runtime/packages/model-folder.js";

/** Silero's voice detector, by role, where the folder has one. */
export function voiceDetectorFile(folder: ModelFolder): { readonly vad: string | undefined } {
  const [other] = folder.matching(/(^|\/)silero_vad[^/]*\.onnx$/);
  return { vad: folder.find("silero_vad.onnx") ?? other };
}
