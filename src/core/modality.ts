import type { Artifact } from "./artifact.js";
import type { Answer } from "./answer.js";
import type { Chunk, PipelineEvent } from "./events.js";
import type { JobFailure, JobState } from "./job.js";
import type { TierPrices } from "./prices.js";
import type { ServiceTier } from "./service-tier.js";
import type { Prices, Quote, Units, Usage } from "./usage.js";

/** A file part of a multipart request, whole in memory (the body limit bounds it). */
export interface UploadedFile {
  readonly filename: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** Largest body of an endpoint that takes pictures. */
export const FILE_BODY_BYTES = 15 * 1024 * 1024;

export type BodyType = "application/json" | "multipart/form-data";

/** How a caller reaches a modality and gets its result. */
export interface Endpoint {
  readonly path: `/v1/${string}`;
  /** Further paths that serve the same. */
  readonly aliases?: readonly `/${string}`[];
  /** In the answer to the request (whole, or as a stream), or by polling `path/{id}`. */
  readonly delivery: "reply" | "poll";
  /** `object` of the resource. */
  readonly object: string;
  /** First part of the ids of its jobs, e.g. `file_`. */
  readonly idPrefix: string;
  /** File variants of a polled job besides `content`. */
  readonly variants: readonly string[];
  /** Variant that shows a completed job of a pipeline with previews; while it runs, the newest of those does. */
  readonly preview?: string;
  /** Whether its content can be played while it is made. */
  readonly isLive?: true;
  /** A replied job that can be read, cancelled and deleted at `path/{id}` afterwards, as `stored` says. */
  readonly isResource?: true;
  /** What a replied job may answer besides JSON and events, or what a polled one's content is. */
  readonly mediaTypes?: readonly string[];
  /** What a body may be; JSON by default. Forms are for files. */
  readonly bodyTypes?: readonly BodyType[];
  /** Largest body; 4 MiB by default, `FILE_BODY_BYTES` where pictures come with it. */
  readonly maxBodyBytes?: number;
  /** Most values of a JSON body; 50 000 by default. */
  readonly maxBodyValues?: number;
  /**
   * Parameters that other servers have and that change nothing here: they are taken out of a body, and named
   * in the answer's `x-ignored-parameters`.
   */
  readonly ignores?: readonly string[];
  /** The field of a body that holds what is judged; `prompt` by default. */
  readonly promptParam?: string;
  /** `model` may be left out: the first model of the modality serves then. */
  readonly modelOptional?: boolean;
}

/** What the front knows of a model: the parts of model.json that bound a request. */
export interface ModelInfo {
  readonly id: string;
  /** Further names that callers may give for it. */
  readonly aliases?: readonly string[];
  readonly modality: string;
  readonly createdAtSeconds: number;
  /** Jobs it runs at once in one process: 1, or as many as it batches. */
  readonly concurrency: number;
  /** Jobs taken beside each of those, whose first stages go along with its last ones; none by default. */
  readonly ahead?: number;
  /** Whether its jobs wait for no other model's: it takes places beside those that the others share. */
  readonly hasOwnSlot?: boolean;
  readonly minSeconds?: number;
  readonly maxSeconds?: number;
  /** Tokens of prompt and answer together. */
  readonly contextTokens?: number;
  /** Length of the vectors that it makes. */
  readonly dimensions?: number;
  /** Texts that go before an embedder's inputs, by name. */
  readonly prompts?: Readonly<Record<string, string>>;
  /** Name of the one that goes before inputs of no stated type. */
  readonly defaultPrompt?: string;
  readonly voices?: readonly string[];
  /** Kinds of input that it judges, or makes clips or pictures from, where its package says so. */
  readonly reads?: readonly ("text" | "image")[];
  /** Whether it sings words that come with a prompt. */
  readonly lyrics?: boolean;
  /** Tiers of its modality that it can make, where not all; the first is the usual one. */
  readonly tiers?: readonly string[];
  /** Output sizes the model can make, as `<width>x<height>`. */
  readonly sizes?: readonly string[];
  /** How manifests of what it makes call it, beside its id. */
  readonly provenance?: ModelProvenance;
}

/** Who made a model. */
export interface ModelProvenance {
  readonly name?: string | undefined;
  readonly version?: string | undefined;
  readonly maker?: string | undefined;
  readonly url?: string | undefined;
}

export interface AdmitContext {
  readonly model: ModelInfo;
  /** The path that was called: an alias may mean other defaults. */
  readonly path: string;
  /** Keeps a validated input (a picture, a sound) for the worker. */
  saveInput(bytes: Uint8Array, mediaType: string): Promise<Artifact>;
  /** An earlier completed job of the same project and modality; undefined when there is none. */
  findEarlier(id: string): Promise<Earlier | undefined>;
}

export interface Earlier {
  readonly request: unknown;
  readonly output: unknown;
}

/** Reads a value as what it should be; throws where it is something else. zod's schemas are such. */
export interface Schema<Value> {
  parse(value: unknown): Value;
}

/** What of a modality crosses a process: each is parsed where it arrives. */
export interface Schemas<Request, Output, Delta> {
  /** An admitted request, as it is stored and travels on the queue. */
  readonly request: Schema<Request>;
  /** What the pipeline says of a finished job. */
  readonly output: Schema<Output>;
  /** JSON pieces of an answer that streams; undefined where none do. Bytes stay bytes. */
  readonly delta?: Schema<Delta>;
}

/** What the front stores of a job, as a modality needs it to answer. */
export interface JobView<Request = unknown, Output = unknown> {
  readonly id: string;
  readonly model: string;
  readonly serviceTier: ServiceTier;
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
  readonly chargedNanoUsd: number | null;
  /** Counted units and what the pipeline said; null until the job completed. */
  readonly usage: Usage | null;
  /** Null until the job completed. */
  readonly output: Output | null;
}

/** A resource as its callers see it. */
export interface PublicObject {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** One request that waits for its answer. */
export interface Exchange<Request = unknown, Output = unknown, Delta = unknown> {
  readonly id: string;
  readonly model: string;
  readonly serviceTier: ServiceTier;
  readonly path: string;
  readonly createdAtMs: number;
  readonly request: Request;
  /** Chunks as the pipeline yields them; ends with the job, throws its `JobError` where it failed. */
  readonly chunks: AsyncIterable<Chunk<Delta>>;
  /** Waits for the end; rejects with the job's `JobError` where it failed. */
  finished(): Promise<Finished<Output>>;
  /** Bytes of a finished job's file. */
  readFile(variant: string): Promise<Uint8Array>;
  /** An address that downloads the file without a key for an hour. */
  fileUrl(variant: string): string;
}

export interface Finished<Output = unknown> {
  readonly output: Output;
  readonly usage: Usage;
  readonly completedAtMs: number;
}

/** The model folder and devices a pipeline is created with. */
export interface PipelineSetup {
  /** Folder that holds model.json. */
  readonly modelPath: string;
  /** CPU threads this slot may use. */
  readonly threads: number;
  /** Execution providers in order of preference; the package's own by default. */
  readonly providers?: readonly string[] | undefined;
  /** Provider → its options, over the package's own. */
  readonly providerOptions?: ProviderOptions | undefined;
  /** Most bytes of prompts that a model remembers for later ones; none by default. */
  readonly promptCacheBytes?: number | undefined;
  /** Whether clips are yielded in pieces, too, while they are made; not by default. */
  readonly isLive?: boolean | undefined;
  /** Programs that mux and inspect media, and turn text into phonemes. */
  readonly ffmpegPath: string;
  readonly ffprobePath: string;
  readonly espeakPath: string;
  /** Told of every run of a graph, for measurements. */
  readonly onRun?: (run: GraphRun) => void;
  /** Given each graph that opens: reads where its nodes have run since, once. */
  readonly onOpen?: ((readPlacement: () => Promise<GraphPlacement>) => void) | undefined;
}

/** Provider → name → value, by the names that ONNX Runtime documents, e.g. `device_id`. */
export type ProviderOptions = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Where the nodes of a graph ran. Those that move less than a kilobyte are left out: arithmetic of shapes. */
export interface GraphPlacement {
  readonly role: string;
  /** Provider → nodes. */
  readonly nodes: Readonly<Record<string, number>>;
  /** Operator → nodes that the CPU ran though another provider was preferred. */
  readonly hostOperators: Readonly<Record<string, number>>;
  /** Mean of a run, between this process's memory and the device's. */
  readonly copiedBytes: number;
}

/** One run of a graph, in Unix milliseconds with fractions. */
export interface GraphRun {
  readonly role: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
}

export interface PipelineContext {
  readonly signal: AbortSignal;
  /** Folder of this attempt, made when it is first read; removed when the attempt ends, however it ends. */
  readonly scratchPath: string;
  /** Reads an input artifact whole. */
  readInput(artifact: Artifact): Promise<Uint8Array>;
  /**
   * Aborts when the worker must leave or a priority job needs the place. A pipeline that can be resumed
   * then yields a `checkpoint` as soon as it has one and ends with `preempted`; others go on until `signal`
   * aborts, seconds later, where the worker leaves.
   */
  readonly preempted?: AbortSignal;
  /** What an earlier attempt saved, unaltered; a pipeline that cannot use it begins anew. */
  readonly checkpoint?: Uint8Array;
  /** Opaque mark of the project that asked. */
  readonly tenant?: string;
}

/** The GPU half of a modality. Runs inside the inference process. */
export interface Pipeline<Request, Output> {
  run(request: Request, context: PipelineContext): AsyncIterable<PipelineEvent<Output>>;
  close(): Promise<void>;
}

/** Reads the answer when it is there, or follows its events, which may break off and be taken up again. */
export type BackgroundUse = "read" | "follow";

/** What a judging model is asked before a prompt is queued, and how its output is read. */
export interface Judge<Output = unknown> {
  body(model: string, texts: readonly string[]): Record<string, unknown>;
  /** Names of the categories that forbid any of the texts. */
  flagged(output: Output): readonly string[];
}

/** Everything the system knows about one kind of request. */
export interface Modality<
  Name extends string = string,
  Request = unknown,
  Output = unknown,
  Delta = unknown,
> {
  readonly name: Name;
  readonly endpoint: Endpoint;
  /** The modality whose models serve it, where it has none of its own. */
  readonly modelsOf?: string;
  /** Whether a model of that modality can do it; all can by default. The others are refused where named. */
  readonly serves?: (model: ModelInfo) => boolean;
  /** A smallest body without `model`, which the given model takes; for canaries, documentation and tests. */
  readonly example: (model?: ModelInfo) => Record<string, unknown>;
  readonly schemas: Schemas<Request, Output, Delta>;
  /** Whether its pipeline yields a checkpoint, and ends, when its context's `preempted` aborts. */
  readonly isResumable?: true;
  /** JSON schema of the request body, for the OpenAPI document; schemas with an `id` are components of it. */
  readonly requestSchema: (bodyType?: BodyType) => unknown;
  /** JSON schema of the resource or reply; undefined where no answer is JSON. */
  readonly responseSchema?: () => unknown;
  /** JSON schema of the data of each server-sent event, where an answer may stream so. */
  readonly eventSchema?: () => unknown;
  /**
   * Parses a body (JSON, or multipart with `UploadedFile` values and strings for numbers), checks it
   * against the model's limits and stores its inputs. Throws `JobError` with `param`; a refused
   * request stores nothing.
   */
  admit(body: unknown, context: AdmitContext): Promise<Request>;
  /**
   * Preliminary list prices in micro-dollars a unit: 0.15 for a token is 0.15 dollars a million tokens.
   * `{}` is free. An operator replaces them by PRICES_FILE.
   */
  readonly prices: Prices | TierPrices<Request>;
  /** Units the job may use at most: what is reserved until it ends. */
  mostUnits(request: Request, model: ModelInfo): Units;
  /** Units it used. Pure; billing trusts nothing else. */
  countUnits(request: Request, output: Output): Units;
  /** Whether what it makes has parts of what the caller sent; made from nothing by default. */
  isEdit?(request: Request): boolean;
  /**
   * Texts that a judging model reads before anything is queued; without it nothing is judged. Throws where
   * what is asked for cannot be read.
   */
  promptsOf?(request: Request): readonly string[];
  /** How its models judge other modalities' prompts. */
  readonly judge?: Judge<Output>;
  /** The public object of a polled job, or of a stored one. */
  render?(job: JobView<Request, Output>): PublicObject;
  /** The answer of a replied job. What it throws before its first byte has the error's own status. */
  answer?(exchange: Exchange<Request, Output, Delta>): Promise<Answer>;
  /** Whether a replied job is kept to be read afterwards. */
  isStored?(request: Request): boolean;
  /** What the caller of a stored answer does meanwhile, where a body says that it is not waited for. */
  background?(body: unknown): BackgroundUse | undefined;
  /**
   * The server-sent events of a stored answer up to the job's present state: those of a later state are
   * the same ones and more.
   */
  events?(job: JobView<Request, Output>): readonly string[];
  /** What a stored answer was asked. */
  readonly inputItems?: {
    /** JSON schema of one. */
    readonly schema: () => unknown;
    /** Oldest first. */
    list(request: Request, jobId: string): readonly PublicObject[];
  };
  loadPipeline(): Promise<(setup: PipelineSetup) => Promise<Pipeline<Request, Output>>>;
}

/** Whether its jobs are polled; else the request that makes one is answered with its result. */
export function isPolled({ endpoint }: { readonly endpoint: Pick<Endpoint, "delivery"> }): boolean {
  return endpoint.delivery === "poll";
}

/** What each way of delivery asks of a modality: one that lacks it does not compile. */
type Delivered<Methods extends { answer?: unknown; isStored?: unknown; render?: unknown }> =
  | ({ readonly endpoint: { readonly delivery: "poll" } } & Required<Pick<Methods, "render">>)
  | ({
      readonly endpoint: { readonly delivery: "reply"; readonly isResource?: never };
    } & Required<Pick<Methods, "answer">>)
  | ({
      readonly endpoint: { readonly delivery: "reply"; readonly isResource: true };
    } & Required<Pick<Methods, "answer" | "isStored" | "render">>);

/** Keeps `Name`, `Request` and `Output` inferred while checking the shape. */
export function defineModality<const Name extends string, Request, Output, Delta = never>(
  modality: Modality<Name, Request, Output, Delta> &
    Delivered<Modality<Name, Request, Output, Delta>>,
): Modality<Name, Request, Output, Delta> {
  return modality;
}
