import { z } from "zod";
import { requireFile, requireGraph } from "../../runtime/packages/layout.js";
import type { ModelFolder } from "../../runtime/packages/model-folder.js";

const modelIndex = z
  .object({ _class_name: z.string() })
  // oxlint-disable-next-line no-underscore-dangle
  .transform((index) => index._class_name);

/** The pipeline that diffusers would run; undefined where the folder is not diffusers'. */
export function findClassName(folder: ModelFolder): Promise<string | undefined> {
  return folder.readJson("model_index.json", modelIndex);
}

export function schedulerFile(folder: ModelFolder): string {
  return requireFile(folder, "scheduler/scheduler_config.json", "it names the sampler");
}

/** A folder of a graph and its settings: `denoiser` and `denoiser-config`. */
export function component(folder: ModelFolder, role: string, place: string) {
  return {
    [role]: requireGraph(folder, `${place}/model`),
    [`${role}-config`]: requireFile(
      folder,
      `${place}/config.json`,
      "it holds the settings of its graph",
    ),
  };
}

/** tokenizer.json, or the two files that it is made of, under roles that end in `suffix`. */
export function tokenizer(folder: ModelFolder, suffix: string, place: string) {
  const whole = folder.find(`${place}/tokenizer.json`);
  const parts = {
    [`tokenizer${suffix}-vocab`]: folder.find(`${place}/vocab.json`),
    [`tokenizer${suffix}-merges`]: folder.find(`${place}/merges.txt`),
  };
  if (whole === undefined && Object.values(parts).includes(undefined))
    throw new Error(
      `${folder.name} has neither ${place}/tokenizer.json nor ${place}/vocab.json with merges.txt`,
    );
  return {
    ...(whole === undefined ? parts : { [`tokenizer${suffix}`]: whole }),
    [`tokenizer${suffix}-config`]: folder.find(`${place}/tokenizer_config.json`),
  };
}
