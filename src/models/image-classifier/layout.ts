import {
  type Layout,
  readModelConfig,
  requireFile,
  requireGraph,
  TEXT_CONCURRENCY,
} from "../../runtime/packages/layout.js";

/** Classifiers of pictures, which judge uploads: NSFW detectors and the like. */
export const imageClassifier: Layout = {
  lookedFor:
    "config.json of a picture classifier (…ForImageClassification) with preprocessor_config.json and onnx/model.onnx",
  async recognise(folder) {
    const config = await readModelConfig(folder);
    const [architecture = ""] = config?.architectures ?? [];
    if (!architecture.endsWith("ForImageClassification")) return undefined;
    return {
      modality: "moderation",
      pipeline: "image-classifier",
      files: {
        classifier: requireGraph(folder, "model"),
        config: "config.json",
        "preprocessor-config": requireFile(
          folder,
          "preprocessor_config.json",
          "it says how a picture becomes pixels",
        ),
      },
      concurrency: TEXT_CONCURRENCY,
      shapes: { reads: ["image"] },
    };
  },
};
