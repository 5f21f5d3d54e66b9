import { openAsBlob } from "node:fs";
import { basename, resolve } from "node:path";
import type { Config } from "../../config.js";
import { probeMedia } from "../../media/probe.js";
import type { Endpoint } from "../dev-file.js";
import { type Clip, createApiClient } from "./api-client.js";
import type { Progress } from "./progress.js";

export interface GenerateOptions {
  readonly model: string;
  readonly quality?: string;
  readonly seconds: string;
  readonly seed?: string;
  readonly negativePrompt?: string;
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
  if (options.seed !== undefined) form.set("seed", options.seed);
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
