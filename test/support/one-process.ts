import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toJobError } from "#framemill/core/errors.js";
import type { Modality, ModelInfo, Pipeline, PipelineSetup } from "#framemill/core/modality.js";
import { loadModelPackage, modelInfo } from "#framemill/runtime/packages/model-package.js";

/** A pipeline with its model, run in this process. */
export interface Runner<Request, Output> {
  readonly info: ModelInfo;
  /** What a caller would be answered. */
  answer(body: object, path?: string): Promise<Record<string, unknown>>;
  /** What the pipeline found. */
  run(body: object, signal?: AbortSignal): Promise<Output>;
  close(): Promise<void>;
  readonly modality: Modality<string, Request, Output>;
}

const TEST_SETUP: Omit<PipelineSetup, "modelPath"> = {
  threads: 1,
  ffmpegPath: "ffmpeg",
  ffprobePath: "ffprobe",
  espeakPath: "espeak-ng",
};

/** Opens a modality on a model folder: requests are admitted, run and answered without a queue. */
export async function openRunner<Request, Output>(
  modality: Modality<string, Request, Output>,
  modelPath: string,
  setup: Pick<PipelineSetup, "onRun"> = {},
): Promise<Runner<Request, Output>> {
  const info = await modelInfo(await loadModelPackage(modelPath));
  const create = await modality.loadPipeline();
  const pipeline: Pipeline<Request, Output> = await create({ ...TEST_SETUP, ...setup, modelPath });
  const kept = new Map<string, Uint8Array>();
  const scratchPath = mkdtempSync(join(tmpdir(), "framemill-runner-"));
  const admit = (body: object, path: string) =>
    modality.admit(
      { model: info.id, ...body },
      {
        model: info,
        path,
        async saveInput(bytes, mediaType) {
          const id = randomUUID();
          kept.set(id, bytes);
          return { id, variant: "input", mediaType, byteLength: bytes.byteLength, sha256: "" };
        },
        findEarlier: async () => undefined,
      },
    );
  const compute = async (request: Request, signal: AbortSignal): Promise<Output> => {
    const readInput = async ({ id }: { readonly id: string }) => kept.get(id) ?? new Uint8Array();
    const copy = JSON.parse(JSON.stringify(request)) as Request;
    for await (const event of pipeline.run(copy, { signal, scratchPath, readInput }))
      if (event.type === "output") return JSON.parse(JSON.stringify(event.output)) as Output;
    throw new Error("the pipeline ended without an output");
  };
  return {
    info,
    modality,
    run: async (body, signal = new AbortController().signal) =>
      compute(await admit(body, modality.endpoint.path), signal),
    async answer(body, path = modality.endpoint.path) {
      const request = await admit(body, path);
      const output = await compute(request, new AbortController().signal);
      const usage = { ...modality.countUnits(request, output), gpuMs: 0 };
      const answer = await modality.answer?.({
        id: `${modality.endpoint.idPrefix}1`,
        model: info.id,
        serviceTier: "default",
        path,
        createdAtMs: 0,
        request,
        chunks: (async function* () {})(),
        finished: async () => ({ output, usage, completedAtMs: 0 }),
        readFile: () => Promise.reject(new Error("there are no files")),
        fileUrl: () => "",
      });
      if (answer === undefined || !("json" in answer)) throw new Error("the answer is not JSON");
      return answer.json;
    },
    async close() {
      await pipeline.close();
      rmSync(scratchPath, { recursive: true });
    },
  };
}

interface AnswersBody {
  answer(body: object, path?: string): Promise<Record<string, unknown>>;
}

/** Serves runners by path over HTTP, for client libraries. Returns the base address and `close`. */
export async function serveRunners(runners: Readonly<Record<string, AnswersBody>>) {
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url ?? "";
    const reply = (status: number, body: object) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    try {
      const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as object;
      reply(200, (await runners[path]?.answer(body, path)) ?? {});
    } catch (thrown) {
      const { httpStatus, message, param, code, type } = toJobError(thrown);
      reply(httpStatus, { error: { message, type, param, code } });
    }
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
