import { openAsBlob, createWriteStream, existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { rm, rename } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import type { Config } from "../../config.js";
import { requireFfmpeg } from "../../media/ffmpeg.js";
import { probeMedia } from "../../media/probe.js";
import { type Endpoint, findRunningFront } from "../data-folder.js";
import { UsageError } from "../option-values.js";
import { type Progress, openProgress } from "./progress.js";
import { showTrace } from "./trace.js";

export interface GenerateOptions {
  readonly model: string;
  readonly quality?: string;
  readonly serviceTier?: string;
  readonly seconds: string;
  readonly seed?: string;
  readonly negativePrompt?: string;
  readonly fit?: "contain" | "cover";
  readonly image?: string;
  readonly out: string;
  readonly json?: boolean;
}

/** Short, for the bar; long enough not to spend the rate limit on it. */
const WAIT_SECONDS = 1;

/** Makes one clip through the HTTP API and writes it to a file; shows how far it is, and closes the bar. */
export async function generate(
  endpoint: Endpoint,
  prompt: string,
  options: GenerateOptions,
  { config, progress }: { readonly config: Config; readonly progress: Progress },
): Promise<void> {
  const startedAt = performance.now();
  const api = createApiClient(endpoint);
  const created = await api.create(await requestForm(prompt, options));
  const cancel = () => void api.cancel(created.id).finally(() => process.exit(130));
  process.once("SIGINT", cancel);
  const clip = await follow(api, created, progress);
  process.removeListener("SIGINT", cancel);
  if (clip.status === "failed") {
    throw new Error(
      `the clip failed: ${clip.error?.message ?? "no reason given"} (${clip.error?.code})`,
    );
  }
  const path = resolve(options.out);
  await api.download(clip.id, path);
  const elapsedSeconds = (performance.now() - startedAt) / 1_000;
  const media = await probeMedia(path, { ffprobePath: config.ffprobePath });
  const summary = {
    id: clip.id,
    path,
    resolution: clip.size,
    durationSeconds: media.durationSeconds,
    sound: media.audio?.codec ?? null,
    elapsedSeconds: Number(elapsedSeconds.toFixed(2)),
    costUsd: clip.cost.final,
  };
  process.stdout.write(options.json ? `${JSON.stringify(summary)}\n` : describe(summary));
}

async function requestForm(prompt: string, options: GenerateOptions): Promise<FormData> {
  const form = new FormData();
  form.set("model", options.model);
  form.set("prompt", prompt);
  form.set("seconds", options.seconds);
  if (options.quality !== undefined) form.set("quality", options.quality);
  if (options.serviceTier !== undefined) form.set("service_tier", options.serviceTier);
  if (options.seed !== undefined) form.set("seed", options.seed);
  if (options.fit !== undefined) form.set("fit", options.fit);
  if (options.negativePrompt !== undefined) form.set("negative_prompt", options.negativePrompt);
  if (options.image !== undefined) {
    form.set("image", await openAsBlob(options.image), basename(options.image));
  }
  return form;
}

async function follow(
  api: ReturnType<typeof createApiClient>,
  created: Clip,
  progress: Progress,
): Promise<Clip> {
  let clip = created;
  try {
    while (clip.status === "queued" || clip.status === "in_progress") {
      progress.update(
        clip.progress,
        clip.status === "queued" ? "queue" : (clip.stage ?? "loading"),
      );
      clip = await api.retrieve(clip.id, WAIT_SECONDS);
    }
    if (clip.status === "completed") progress.update(100, "done");
  } finally {
    progress.close();
  }
  return clip;
}

interface Summary {
  readonly path: string;
  readonly resolution: string;
  readonly durationSeconds: number;
  readonly sound: string | null;
  readonly elapsedSeconds: number;
  readonly costUsd: number | null;
}

function describe(summary: Summary): string {
  const rows = [
    ["file", summary.path],
    ["resolution", summary.resolution.replace("x", " × ")],
    ["duration", `${summary.durationSeconds.toFixed(2)} s, ${summary.sound ?? "no sound"}`],
    ["time taken", `${summary.elapsedSeconds.toFixed(1)} s`],
    ["cost", `$${(summary.costUsd ?? 0).toFixed(2)}`],
  ];
  return `${rows.map(([name = "", value = ""]) => `  ${name.padEnd(11)}${value}`).join("\n")}\n`;
}

interface ClipOptions extends GenerateOptions {
  readonly baseUrl?: string;
  readonly apiKey?: string;
  /** File for the trace. */
  readonly trace?: string;
}

/** Makes a clip on the front that is named or running; without one it starts everything embedded. */
export async function makeClip(
  prompt: string,
  options: ClipOptions,
  config: Config,
): Promise<void> {
  const running = namedFront(options, config) ?? (await findRunningFront(config.dataDir));
  const { trace, json } = options;
  if (running !== undefined && trace !== undefined)
    throw new Error(`--trace needs a service of its own: ${running.baseUrl} has TRACES_FILE`);
  const progress = openProgress(running === undefined ? "start" : "queue");
  try {
    if (running !== undefined)
      return await generate(running, prompt, options, { config, progress });
    if (trace !== undefined) await rm(trace, { force: true });
    const stack = await startOwnStack({ ...config, models: modelsFor(options, config) }, trace);
    try {
      await generate(stack.endpoint, prompt, options, { config, progress });
    } finally {
      await stack.close();
    }
  } finally {
    progress.close();
  }
  if (trace !== undefined && json !== true) await showTrace(trace, {});
}

/** Models that one clip takes: others would only make its start longer. All where it names none of the folder. */
function modelsFor(
  { model }: ClipOptions,
  { models, modelsDir, moderationModel }: Config,
): Config["models"] {
  if (models !== undefined || !existsSync(join(modelsDir, model))) return models;
  return moderationModel === undefined ? [model] : [model, moderationModel];
}

/** Imported late: the bar stands before a second of reading code begins. */
async function startOwnStack(config: Config, trace?: string) {
  const [{ startStack }] = await Promise.all([import("../stack.js"), requireFfmpeg(config)]);
  return startStack({
    ...config,
    ...(trace !== undefined && { tracesFile: trace }),
    port: 0,
    grpcPort: 0,
    workerPort: 0,
    logLevel: "error",
  });
}

function namedFront(options: ClipOptions, config: Config): Endpoint | undefined {
  const baseUrl = options.baseUrl ?? config.framemillBaseUrl;
  const apiKey = options.apiKey ?? config.framemillApiKey;
  if (baseUrl === undefined) return undefined;
  if (apiKey === undefined)
    throw new UsageError(`a key is needed for ${baseUrl}: --api-key or FRAMEMILL_API_KEY`);
  return { baseUrl, apiKey };
}

const clip = z.object({
  id: z.string(),
  status: z.enum(["queued", "in_progress", "completed", "failed"]),
  progress: z.number(),
  stage: z.string().nullable(),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  size: z.string(),
  cost: z.object({ final: z.number().nullable() }),
});

const errorBody = z.object({ error: z.object({ message: z.string() }) });

type Clip = z.infer<typeof clip>;

/** What the command line needs of the HTTP API. Errors are the API's own sentences. */
function createApiClient({ baseUrl, apiKey }: Endpoint) {
  async function call(path: string, init: Omit<RequestInit, "headers"> = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${apiKey}` };
    const response = await fetch(baseUrl + path, { ...init, headers });
    if (response.ok) return response;
    const body = errorBody.safeParse(await response.json().catch(() => null));
    throw new Error(body.data?.error.message ?? `${path} answered ${response.status}`);
  }
  return {
    async create(body: FormData): Promise<Clip> {
      const response = await call("/videos", { method: "POST", body });
      return clip.parse(await response.json());
    },
    /** The clip when it has ended, or after `waitSeconds`. */
    async retrieve(id: string, waitSeconds: number): Promise<Clip> {
      const response = await call(`/videos/${id}?wait=${waitSeconds}`);
      return clip.parse(await response.json());
    },
    async cancel(id: string): Promise<void> {
      await call(`/videos/${id}/cancel`, { method: "POST" });
    },
    /** Writes the MP4 beside the path first: a broken download leaves no half file. */
    async download(id: string, path: string): Promise<void> {
      const response = await call(`/videos/${id}/content`);
      if (response.body === null) throw new Error("the content has no body");
      const partial = `${path}.part`;
      await pipeline(Readable.fromWeb(response.body), createWriteStream(partial));
      await rename(partial, path);
    },
  };
}
