import { join } from "node:path";
import type { Config } from "../../../src/config.js";

/** How suites open the video model by itself. */
export function pipelineSetup(config: Config) {
  const { modelsDir, threads, providers, ffmpegPath, ffprobePath, espeakPath } = config;
  const modelPath = join(modelsDir, "service-motion-1");
  return { modelPath, threads, providers, ffmpegPath, ffprobePath, espeakPath };
}
