import type { PipelineSetup } from "../../../src/core/modality.js";
import { createEmbeddingsPipeline } from "../../../src/modalities/embeddings/pipeline.js";
import { createTexts, serve } from "./requests.js";
import { openPeerEmbedder } from "./transformers-js.js";
import { type BenchRow, compare, type Pair } from "../report/measure.js";

/** Embeds one text. */
type Embed = (text: string) => Promise<unknown>;

const CLIENTS = 32;
const REQUESTS = 1_920;
const LONE_REQUESTS = 128;

/**
 * Time of a request through the embeddings pipeline against transformers.js on the same folder (a BERT
 * with mean pooling): 32 clients that each wait for their answer, and one. Every text is new to both.
 */
export async function encoderRows(setup: PipelineSetup, rounds: number): Promise<BenchRow[]> {
  const pipeline = await createEmbeddingsPipeline(setup);
  const peer = await openPeerEmbedder(setup.modelPath);
  const texts = createTexts();
  try {
    const subjects = { ours: embedBy(pipeline), against: (text: string) => peer.embed(text) };
    await measureRound(subjects, texts(REQUESTS), CLIENTS);
    const many: Pair[] = [];
    const lone: Pair[] = [];
    for (let round = 0; round < rounds; round += 1) {
      many.push(await measureRound(subjects, texts(REQUESTS), CLIENTS));
      lone.push(await measureRound(subjects, texts(LONE_REQUESTS), 1));
    }
    const unit = "ms";
    return [
      compare({ what: `embeddings: a request of ${CLIENTS} at once`, unit, target: 0.333 }, many),
      compare({ what: "embeddings: a request alone", unit, target: null }, lone),
    ];
  } finally {
    await pipeline.close();
    await peer.close();
  }
}

function embedBy(pipeline: Awaited<ReturnType<typeof createEmbeddingsPipeline>>): Embed {
  const readInput = () => Promise.reject(new Error("embeddings have no input artifacts"));
  return async (text) => {
    const request = {
      model: "",
      inputs: [text],
      dimensions: null,
      encodingFormat: "base64" as const,
    };
    const { signal } = new AbortController();
    for await (const event of pipeline.run(request, { signal, scratchPath: "", readInput }))
      if (event.type === "output") return event.output;
    throw new Error("the pipeline ended without an output");
  };
}

/** Milliseconds a request, both on the same texts, one after the other. */
async function measureRound(
  { ours, against }: { readonly ours: Embed; readonly against: Embed },
  texts: readonly string[],
  clients: number,
): Promise<Pair> {
  return { ours: await serve(ours, texts, clients), against: await serve(against, texts, clients) };
}
