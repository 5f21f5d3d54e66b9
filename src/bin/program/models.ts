import { type Command, Option } from "commander";
import type { BenchPackage } from "./measuring.js";
import type { ReadConfig } from "./read-config.js";

/** `models`: packages, and what is published. */
export function addModelCommands(program: Command, config: ReadConfig, bench: BenchPackage): void {
  const models = program.command("models").description("model packages");
  models
    .command("list")
    .description("packages in the models folder")
    .option("--json", "print as JSON")
    .action(async (options) =>
      (await import("../commands/models.js")).listModels(options, config()),
    );
  models
    .command("check")
    .argument("[ids...]", "packages; all when left out")
    .option("--no-canary", "run no inference")
    .description("hashes every file, opens every graph and runs one inference")
    .action(async (ids: string[], options) =>
      (await import("../commands/models.js")).checkModels(ids, options, config()),
    );
  bench.addEvaluateCommand(models, config);
  addFileCommands(models, config);
  addPublishedCommands(models, config);
}

/** What changes a package in its place. */
function addFileCommands(models: Command, config: ReadConfig): void {
  models
    .command("measure")
    .argument("[ids...]", "packages; all when left out")
    .description("measures the memory of packages and writes it into their model.json")
    .action(async (ids: string[]) =>
      (await import("../commands/models-files.js")).measureModels(ids, config()),
    );
  models
    .command("externalise")
    .argument("<ids...>", "packages")
    .description("puts the weights of large graphs into files beside them, which load faster")
    .action(async (ids: string[]) =>
      (await import("../commands/models-files.js")).externaliseModels(ids, config()),
    );
  models
    .command("fuse")
    .argument("<ids...>", "video packages")
    .description("makes one graph of a denoiser and its loop, for several steps a run")
    .action(async (ids: string[]) =>
      (await import("../commands/models-files.js")).fuseModels(ids, config()),
    );
}

function addPublishedCommands(models: Command, config: ReadConfig): void {
  packageOptions(models.command("add").argument("<folder>", "a published model"))
    .option("--with <folders...>", "further folders to merge in, e.g. one with voices/")
    .description("recognises a published layout, writes its model.json and runs one inference")
    .action(async (folder: string, options) =>
      (await import("../commands/models-add.js")).addModels(folder, options, config()),
    );
  packageOptions(
    models.command("pull").argument("<repository[@revision]>", "of a model hub, e.g. owner/name"),
  )
    .option(
      "--base-url <url>",
      "the hub; its token is read from HUB_TOKEN",
      "https://huggingface.co",
    )
    .option("--include <globs...>", "only files whose path matches one of these")
    .description("downloads a published model, resumes where it broke off, and adds it")
    .action(async (repository: string, options) =>
      (await import("../commands/models-pull.js")).pullModel(repository, options, config()),
    );
}

function packageOptions(command: Command): Command {
  return command
    .option("--id <name>", "public name; made of the folder's name when left out")
    .option("--dtype <word>", "graphs to take where there are several: fp32, fp16, q8, q4, q4f16 …")
    .option("--licence <name>", "over what the folder says")
    .addOption(
      new Option("--as <modality>", "where the files of a text encoder leave it open").choices([
        "embeddings",
        "rerank",
        "moderation",
      ]),
    )
    .option("--shapes <json>", "fields over model.json's shapes, e.g. a classifier's labels")
    .option("--providers <list>", "execution providers in order of preference", "cpu")
    .option("--no-canary", "run no inference");
}
