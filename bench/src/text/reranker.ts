import { z } from "zod";
import type { PipelineSetup } from "../../../src/core/modality.js";
import { createRerankPipeline } from "../../../src/modalities/rerank/pipeline.js";
import { createTexts, serve } from "./requests.js";
import { openPeerLibrary } from "./transformers-js.js";
import { type BenchRow, compare, type Pair } from "../report/measure.js";

const CLIENTS = 32;
const REQUESTS = 960;
const DOCUMENTS = 4;

type Rank = (query: string, documents: readonly string[]) => Promise<unknown>;
type Call = (...args: unknown[]) => unknown;
const callable = z.custom<Call & { dispose?: Call }>((value) => typeof value === "function");

/** Time of a rerank request of four documents, 32 at once, against transformers.js on the same folder. */
export async function rerankRows(setup: PipelineSetup, rounds: number): Promise<BenchRow[]> {
  const pipeline = await createRerankPipeline(setup);
  const peer = await openPeer(setup);
  const texts = createTexts();
  const requests = (count: number) => Array.from({ length: count }, () => texts(1 + DOCUMENTS));
  const measure = async (rank: Rank, sent: readonly string[][]) =>
    await serve(([query = "", ...documents]) => rank(query, documents), sent, CLIENTS);
  try {
    const ours = rankBy(pipeline);
    await measure(ours, requests(REQUESTS));
    await measure(peer.rank, requests(REQUESTS));
    const pairs: Pair[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const sent = requests(REQUESTS);
      pairs.push({ ours: await measure(ours, sent), against: await measure(peer.rank, sent) });
    }
    return [
      compare(
        { what: `rerank: a request of ${CLIENTS} at once`, unit: "ms", target: 0.333 },
        pairs,
      ),
    ];
  } finally {
    await pipeline.close();
    await peer.close();
  }
}

function rankBy(pipeline: Awaited<ReturnType<typeof createRerankPipeline>>): Rank {
  const readInput = () => Promise.reject(new Error("rerank has no input artifacts"));
  return async (query, documents) => {
    const request = {
      model: "",
      query,
      documents,
      topN: null,
      returnDocuments: false,
      maxTokensPerDocument: 4_096,
      apiVersion: "2" as const,
    };
    const { signal } = new AbortController();
    for await (const event of pipeline.run(request, { signal, scratchPath: "", readInput }))
      if (event.type === "output") return event.output;
    throw new Error("the pipeline ended without an output");
  };
}

/** A call for each request, its documents as one batch, as the library's users write it. */
async function openPeer({ modelPath }: PipelineSetup) {
  const library = await openPeerLibrary(modelPath);
  const tokenize = callable.parse(await library.open("AutoTokenizer"));
  const model = callable.parse(await library.open("AutoModelForSequenceClassification"));
  const rank: Rank = async (query, documents) => {
    const queries = documents.map(() => query);
    const options = { text_pair: documents, padding: true, truncation: true };
    return await model(await tokenize(queries, options));
  };
  return { rank, close: async () => void (await model.dispose?.()) };
}
