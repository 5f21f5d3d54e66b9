import { randomBytes } from "node:crypto";
import type { Chunk } from "#framemill/core/events.js";
import type { Exchange, Modality, ModelInfo, Pipeline } from "#framemill/core/modality.js";

/** One request through a pipeline, as the front would see it: the pipeline runs when its answer is read. */
export function exchangeOf<Request, Output>(
  modality: Modality<string, Request, Output>,
  options: {
    readonly pipeline: Pipeline<Request, Output>;
    readonly model: ModelInfo;
    readonly request: Request;
    readonly signal: AbortSignal;
  },
): Exchange<Request, Output> {
  const { pipeline, model, request, signal } = options;
  const chunks: Chunk[] = [];
  let wake = () => {};
  let ended = false;
  let output: Output | undefined;
  const run = async () => {
    const context = { signal, scratchPath: "", readInput: () => Promise.reject(new Error("none")) };
    try {
      for await (const event of pipeline.run(request, context)) {
        if (event.type === "output") output = event.output;
        if (event.type === "chunk") chunks.push(event.chunk);
        wake();
      }
    } finally {
      ended = true;
      wake();
    }
  };
  const running = run();
  running.catch(() => {});
  return {
    id: `${modality.endpoint.idPrefix}${randomBytes(16).toString("hex")}`,
    model: model.id,
    serviceTier: "default",
    path: modality.endpoint.path,
    createdAtMs: Date.now(),
    request,
    chunks: {
      async *[Symbol.asyncIterator]() {
        for (;;) {
          while (chunks.length > 0) yield chunks.shift() as Chunk;
          if (ended) break;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
        await running;
      },
    },
    async finished() {
      await running;
      if (output === undefined) throw new Error("the pipeline ended without an output");
      const usage = { ...modality.countUnits(request, output), gpuMs: 1 };
      return { output, usage, completedAtMs: Date.now() };
    },
    readFile: () => Promise.reject(new Error("a text has no file")),
    fileUrl: () => "",
  };
}
