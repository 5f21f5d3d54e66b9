import type { Artifact } from "./artifact.js";
import type { PipelineEvent } from "./events.js";
import type { JobFailure, JobState } from "./job.js";
import type { Quote, Usage } from "./usage.js";

/** A file part of a multipart request, whole in memory (the body limit bounds it). */
export interface UploadedFile {
  readonly filename: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** How a caller reaches a modality and gets its result. */
export interface Endpoint {
  readonly path: `/v1/${string}`;
  /** In the reply, as server-sent events, or by polling `path/{id}`. */
  readonly delivery: "reply" | "stream" | "poll";
  /** `object` of the resource and prefix of its ids: `video` makes `video_…`. */
  readonly object: string;
  /** File variants of a polled job besides `content`. */
  readonly variants: readonly string[];
}

/** What the front knows of a model: the parts of model.json that bound a request. */
export interface ModelInfo {
  readonly id: string;
  readonly modality: string;
  readonly createdAtSeconds: number;
  readonly minSeconds?: number;
  readonly maxSeconds?: number;
  /** Output sizes the model can make, as `<width>x<height>`. */
  readonly sizes?: readonly string[];
}

export interface AdmitContext {
  readonly model: ModelInfo;
  /** Keeps a validated input (a picture, a sound) for the worker. */
  saveInput(bytes: Uint8Array, mediaType: string): Promise<Artifact>;
}

/** What the front stores of a job, as a modality needs it to answer. */
export interface JobView<Request = unknown> {
  readonly id: string;
  readonly model: string;
  readonly state: JobState;
  readonly request: Request;
  /** 0 to 100; 100 only when the file can be downloaded. */
  readonly progress: number;
  /** What is being done now, as the pipeline names it; null unless in progress. */
  readonly stage: string | null;
  readonly createdAtMs: number;
  readonly startedAtMs: number | null;
  readonly completedAtMs: number | null;
  readonly expiresAtMs: number | null;
  readonly failure: JobFailure | null;
  readonly queuePosition: number | null;
  readonly etaSeconds: number | null;
  readonly quote: Quote;
  /** Charged amount; null until the job ended. */
  readonly chargedMicroUsd: number | null;
}

/** The model folder and devices a pipeline is created with. */
export interface PipelineSetup {
  /** Folder that holds model.json. */
  readonly modelPath: string;
  /** CPU threads this slot may use. */
  readonly threads: number;
  /** Programs that mux and inspect media. */
  readonly ffmpegPath: string;
  readonly ffprobePath: string;
  /** Told of every run of a graph, for measurements. */
  readonly onRun?: (run: GraphRun) => void;
}

/** One run of a graph, in Unix milliseconds with fractions. */
export interface GraphRun {
  readonly role: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

export interface PipelineContext {
  readonly signal: AbortSignal;
  /** Folder of this attempt; removed when it ends, however it ends. */
  readonly scratchPath: string;
  /** Reads an input artifact whole. */
  readInput(artifact: Artifact): Promise<Uint8Array>;
}

/** The GPU half of a modality. Runs inside the inference process. */
export interface Pipeline<Request, Output> {
  run(request: Request, context: PipelineContext): AsyncIterable<PipelineEvent<Output>>;
  close(): Promise<void>;
}

/** Everything the system knows about one kind of request. */
export interface Modality<Name extends string = string, Request = unknown, Output = unknown> {
  readonly name: Name;
  readonly endpoint: Endpoint;
  /** JSON schema of the request body, for the OpenAPI document. */
  readonly requestSchema: () => unknown;
  /** JSON schema of the resource or reply, for the OpenAPI document. */
  readonly responseSchema: () => unknown;
  /**
   * Parses a body (JSON, or multipart with `UploadedFile` values and strings for numbers), checks it
   * against the model's limits and stores its inputs. Throws `JobError` with `param`; a refused
   * request stores nothing.
   */
  admit(body: unknown, context: AdmitContext): Promise<Request>;
  quote(request: Request): Quote;
  /** Pure; billing trusts nothing else. */
  usage(request: Request, output: Output, gpuMs: number): Usage;
  /** Billed units of the quote's unit in a usage. */
  billedUnits(usage: Usage): number;
  /** The public object. */
  render(job: JobView<Request>): Record<string, unknown>;
  loadPipeline(): Promise<(setup: PipelineSetup) => Promise<Pipeline<Request, Output>>>;
}

/** Keeps `Name`, `Request` and `Output` inferred while checking the shape. */
export function defineModality<const Name extends string, Request, Output>(
  modality: Modality<Name, Request, Output>,
): Modality<Name, Request, Output> {
  return modality;
}
