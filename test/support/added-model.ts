import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addModel, type AddModelOptions } from "#framemill/models/add-model.js";
import type { ModelPackage } from "#framemill/runtime/packages/model-package.js";
import { publishedModel } from "./published-models.js";

export interface AddedModelOptions extends Omit<AddModelOptions, "modelsDir" | "extra"> {
  /** Names of further folders of the shared models. */
  readonly extra?: readonly string[];
}

let modelsDir: string | undefined;
const added = new Map<string, Promise<ModelPackage>>();

/** The shared model `name` (e.g. `tiny-official/chat-qwen3`) as a package, made once a process. */
export function addedModel(name: string, options: AddedModelOptions = {}): Promise<ModelPackage> {
  const key = JSON.stringify([name, options]);
  const known = added.get(key) ?? add(name, { id: `model-${added.size + 1}`, ...options });
  added.set(key, known);
  return known;
}

function add(name: string, { extra = [], ...options }: AddedModelOptions): Promise<ModelPackage> {
  modelsDir ??= makeModelsDir();
  const folders = extra.map((folder) => publishedModel(folder));
  return addModel(publishedModel(name), { ...options, extra: folders, modelsDir });
}

function makeModelsDir(): string {
  const folder = mkdtempSync(join(tmpdir(), "framemill-added-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
