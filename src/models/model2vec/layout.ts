import { open } from "node:fs/promises";
import { z } from "zod";
import { messageOf } from "../../core/errors.js";
import {
  type Layout,
  modulesList,
  present,
  requireFile,
  TEXT_CONCURRENCY,
  tokenizerFiles,
} from "../../runtime/packages/layout.js";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";
import { readPrompts } from "../encoder/prompts.js";

const staticConfig = z.object({ model_type: z.string().nullish(), hidden_dim: z.int().nullish() });
const tensorHeader = z.record(z.string(), z.unknown());
const shaped = z.object({ shape: z.array(z.int()) });
const MAX_HEADER_BYTES = 1_048_576;

/** Model2Vec: one vector a token in model.safetensors, averaged. */
export const model2vec: Layout = {
  lookedFor: "model.safetensors with modules.json of a StaticEmbedding (Model2Vec)",
  async recognise(folder) {
    const modules = await folder.readJson("modules.json", modulesList);
    const config = await folder.readJson("config.json", staticConfig).catch(() => undefined);
    const isStatic = modules?.some(({ type }) => type.endsWith("StaticEmbedding")) ?? false;
    if (!isStatic && config?.model_type !== "model2vec") return undefined;
    const embeddings = requireFile(folder, "model.safetensors", "it holds the vectors");
    const files = present({
      embeddings,
      config: requireFile(folder, "config.json", "it says what the table is"),
      ...tokenizerFiles(folder),
    });
    const dimensions = await vectorLength(folder, embeddings);
    return {
      modality: "embeddings",
      pipeline: "model2vec",
      files,
      concurrency: TEXT_CONCURRENCY,
      shapes: { dimensions, ...(await readPrompts(folder)) },
    };
  },
};

/** Columns of the tensor `embeddings` [tokens, dimensions], from the safetensors header. */
async function vectorLength(folder: ModelFolder, path: string): Promise<number> {
  const file = await open(folder.absolute(path), "r");
  try {
    const start = await file.read(Buffer.alloc(8), 0, 8, 0);
    const byteLength = start.bytesRead === 8 ? Number(start.buffer.readBigUInt64LE()) : 0;
    if (byteLength < 2 || byteLength > MAX_HEADER_BYTES) throw new Error("it has no header");
    const header = await file.read(Buffer.alloc(byteLength), 0, byteLength, 8);
    const tensors = tensorHeader.parse(JSON.parse(header.buffer.toString("utf8")));
    const dimensions = shaped
      .parse(tensors["embeddings"] ?? tensors["embedding.weight"])
      .shape.at(1);
    if (dimensions === undefined) throw new Error("its embeddings are no matrix");
    return dimensions;
  } catch (cause) {
    const reason = messageOf(cause);
    throw new Error(`${folder.name}/${path} is not a table of embeddings: ${reason}`, { cause });
  } finally {
    await file.close();
  }
}
