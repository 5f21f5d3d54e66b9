import { mkdir, rename, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../config.js";
import { type HubRepository, parseRepository } from "../../runtime/packages/hub-repository.js";
import { parseForm } from "../../runtime/onnx/graph-forms.js";
import { type DownloadedModel, downloadModel } from "../../runtime/packages/model-download.js";
import { untilInterrupted } from "./interrupt.js";
import { addAndTry, type AddOptions } from "./models-add.js";
import { openProgress } from "./progress.js";

export interface PullOptions extends AddOptions {
  readonly baseUrl: string;
  readonly include?: readonly string[];
}

/** Not a package until it is whole: a folder without model.json of its own is not looked at. */
const UNFINISHED = ".pulling";

/** Downloads a model of a hub and makes a package of it; a download that broke off is gone on with. */
export async function pullModel(text: string, options: PullOptions, config: Config): Promise<void> {
  const repository = parseRepository(text);
  const unfinished = join(config.modelsDir, UNFINISHED);
  const { id = repository.name.split("/").at(-1) ?? repository.name } = options;
  await mkdir(unfinished, { recursive: true });
  await untilInterrupted("stopped; the same command goes on from here", async (signal) => {
    const downloaded = await download(repository, unfinished, { options, config, signal });
    const { path, commit, folder } = downloaded;
    const source = `pulled from ${repository.name}@${commit}`;
    const further = { source, inPlace: true, signal };
    const model = await addAndTry(path, { ...options, id }, config, further);
    await rename(model.path, join(config.modelsDir, model.id));
    await rm(folder, { recursive: true, force: true });
  });
  await rmdir(unfinished).catch(() => undefined);
}

interface Wishes {
  readonly options: PullOptions;
  readonly config: Config;
  readonly signal: AbortSignal;
}

async function download(
  repository: HubRepository,
  folder: string,
  { options, config, signal }: Wishes,
): Promise<DownloadedModel> {
  const { baseUrl, include, dtype } = options;
  const progress = openProgress();
  try {
    return await downloadModel({
      hub: { baseUrl, ...(config.hubToken !== undefined && { token: config.hubToken }) },
      repository,
      folder,
      ...(dtype !== undefined && { form: parseForm(dtype) }),
      ...(include && { include }),
      signal,
      onProgress: (bytes, of) => progress.update(of === 0 ? 0 : (bytes / of) * 100, "pulling"),
    });
  } finally {
    progress.close();
  }
}
