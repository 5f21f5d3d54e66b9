#!/usr/bin/env node
import { Command, CommanderError, Option, InvalidArgumentError } from "commander";
import { type Config, loadConfig } from "../config.js";

const DEMO_PROMPT = "a red boat sails across the ocean at sunset";

const program = new Command("framemill")
  .description(
    "Turns a queue of generation jobs into finished media. Settings come from the environment: docs/getting-started.md",
  )
  .version("0.1.0")
  .option("--data-dir <folder>", "embedded database, local artifacts and dev.json (DATA_DIR)")
  .option("--models-dir <folder>", "model packages (MODELS_DIR)")
  .showHelpAfterError("(--help lists what it takes)")
  .exitOverride();

/** The environment, with the global options over it. */
function config(overrides: Partial<Config> = {}): Config {
  const { dataDir, modelsDir } = program.opts<{ dataDir?: string; modelsDir?: string }>();
  return loadConfig({
    ...(dataDir !== undefined && { dataDir }),
    ...(modelsDir !== undefined && { modelsDir }),
    ...overrides,
  });
}

function listenOptions(command: Command): Command {
  return command
    .option("--host <address>", "address to listen on (HOST)")
    .option("--port <number>", "HTTP port, 0 for any free one (PORT)", Number);
}

listenOptions(program.command("up"))
  .description("front and worker in one process; embedded parts unless configured otherwise")
  .action(async (options: Partial<Config>) =>
    (await import("./commands/up.js")).up(config(options)),
  );

listenOptions(program.command("front"))
  .description("the HTTP API and the workers' gRPC endpoint")
  .action(async (options: Partial<Config>) =>
    (await import("./commands/front.js")).front(config(options)),
  );

program
  .command("worker")
  .description("takes jobs from the queue and runs them")
  .option("--front-address <host:port>", "gRPC address of the front (FRONT_ADDRESS)")
  .action(async (options: Partial<Config>) =>
    (await import("./commands/worker.js")).worker(config(options)),
  );

function clipOptions(command: Command): Command {
  return command
    .option("--model <id>", "video model", "service-motion-1")
    .addOption(
      new Option("--quality <tier>", "fast: 720p · standard: 720p, sound · high: 1080p, sound")
        .choices(["fast", "standard", "high"])
        .default("standard"),
    )
    .option("--seconds <number>", "length of the clip, 4 to 10", "4")
    .option("--seed <number>", "same seed, same frames")
    .option("--negative-prompt <text>", "what should not be seen")
    .option("--image <file>", "PNG, JPEG or WebP picture to animate")
    .option("--out <file>", "MP4 to write", "clip.mp4")
    .option("--base-url <url>", "a running front, with /v1 (FRAMEMILL_BASE_URL)")
    .option("--api-key <key>", "key for --base-url (FRAMEMILL_API_KEY)")
    .option("--json", "print the summary as JSON");
}

clipOptions(program.command("generate").argument("<prompt>", "what the clip shows"))
  .description("makes one clip, on a running front or an embedded one")
  .action(async (prompt: string, options) =>
    (await import("./commands/clip.js")).makeClip(prompt, options, config()),
  );

clipOptions(program.command("demo").argument("[prompt]", "what the clip shows", DEMO_PROMPT))
  .description("makes one clip with everything embedded")
  .action(async (prompt: string, options) =>
    (await import("./commands/clip.js")).makeClip(prompt, options, config()),
  );

const keys = program.command("keys").description("API keys of projects");
keys
  .command("create")
  .description("makes a key and prints it, once")
  .option("--project <name>", "project that pays; made when there is none", "default")
  .option("--name <text>", "what the key is for", "cli")
  .option("--json", "print as JSON")
  .action(async (options) => (await import("./commands/keys.js")).createKey(options, config()));
keys
  .command("list")
  .description("keys without their secrets")
  .option("--json", "print as JSON")
  .action(async (options) => (await import("./commands/keys.js")).listKeys(options, config()));
keys
  .command("revoke")
  .argument("<id>", "key_…")
  .description("a revoked key answers 401 from now on")
  .action(async (id: string) => (await import("./commands/keys.js")).revokeKey(id, config()));

const projects = program.command("projects").description("projects, their limits and secrets");
projects
  .command("list")
  .description("projects with their limits")
  .option("--json", "print as JSON")
  .action(async (options) =>
    (await import("./commands/projects.js")).listProjects(options, config()),
  );
projects
  .command("set")
  .argument("<name>", "made when there is none")
  .description("limits of a project; what is left out stays")
  .option("--requests-per-minute <count>", "requests a minute", parseCount)
  .option("--tokens-per-minute <count>", "tokens a minute", parseCount)
  .option("--monthly-limit <dollars>", "spending a month in dollars, or none", parseDollars)
  .option("--weight <number>", "share of the workers beside projects of weight 1", parseAmount)
  .action(async (name: string, options) =>
    (await import("./commands/projects.js")).setProject(name, options, config()),
  );
projects
  .command("webhook-secret")
  .argument("<name>", "made when there is none")
  .option("--renew", "make another one: what the old one signs is no longer believed")
  .description("prints the secret that signs the project's webhooks")
  .action(async (name: string, options) =>
    (await import("./commands/projects.js")).printWebhookSecret(name, options, config()),
  );

const workers = program.command("workers").description("workers that announce themselves");
workers
  .command("list")
  .description("what they compute on, and what they hold")
  .option("--json", "print as JSON")
  .action(async (options) =>
    (await import("./commands/workers.js")).listWorkers(options, config()),
  );
workers
  .command("drain")
  .argument("<id>", "as workers list prints it")
  .option("--undo", "let it take jobs again")
  .description("lets a worker finish its jobs and take no more, also when it starts again")
  .action(async (id: string, options) =>
    (await import("./commands/workers.js")).drainWorker(id, options, config()),
  );

const models = program.command("models").description("model packages");
models
  .command("list")
  .description("packages in the models folder")
  .option("--json", "print as JSON")
  .action(async (options) => (await import("./commands/models.js")).listModels(options, config()));
models
  .command("check")
  .argument("[ids...]", "packages; all when left out")
  .option("--no-canary", "run no inference")
  .description("hashes every file, opens every graph and runs one inference")
  .action(async (ids: string[], options) =>
    (await import("./commands/models.js")).checkModels(ids, options, config()),
  );
models
  .command("evaluate")
  .argument("[ids...]", "packages; all that state numbers when left out")
  .option("--limit <count>", "most cases of each set; decides nothing", parseCount)
  .option("--json", "print as JSON")
  .description("recomputes the numbers of model cards through the real pipeline")
  .action(async (ids: string[], options) =>
    (await import("./commands/models-evaluate.js")).evaluateModels(ids, options, config()),
  );

models
  .command("measure")
  .argument("[ids...]", "packages; all when left out")
  .description("measures the memory of packages and writes it into their model.json")
  .action(async (ids: string[]) =>
    (await import("./commands/models-files.js")).measureModels(ids, config()),
  );
models
  .command("externalise")
  .argument("<ids...>", "packages")
  .description("puts the weights of large graphs into files beside them, which load faster")
  .action(async (ids: string[]) =>
    (await import("./commands/models-files.js")).externaliseModels(ids, config()),
  );

function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new InvalidArgumentError(`must be a whole number above 0, got ${text}`);
}

function parseAmount(text: string): number {
  const amount = Number(text);
  if (Number.isFinite(amount) && amount > 0) return amount;
  throw new InvalidArgumentError(`must be a number above 0, got ${text}`);
}

function parseDollars(text: string): number | null {
  return text === "none" ? null : parseAmount(text);
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

packageOptions(models.command("add").argument("<folder>", "a published model"))
  .option("--with <folders...>", "further folders to merge in, e.g. one with voices/")
  .description("recognises a published layout, writes its model.json and runs one inference")
  .action(async (folder: string, options) =>
    (await import("./commands/models-add.js")).addModels(folder, options, config()),
  );
packageOptions(
  models.command("pull").argument("<repository[@revision]>", "of a model hub, e.g. owner/name"),
)
  .option("--base-url <url>", "the hub; its token is read from HUB_TOKEN", "https://huggingface.co")
  .option("--include <globs...>", "only files whose path matches one of these")
  .description("downloads a published model, resumes where it broke off, and adds it")
  .action(async (repository: string, options) =>
    (await import("./commands/models-pull.js")).pullModel(repository, options, config()),
  );

program
  .command("jobs")
  .description("newest jobs: state, attempts, charge")
  .option("--limit <number>", "how many", Number, 20)
  .option("--json", "print as JSON")
  .action(async (options) => (await import("./commands/jobs.js")).listJobs(options, config()));

program
  .command("doctor")
  .description(
    "looks at ffmpeg, encoders, execution providers, models, broker, database and storage",
  )
  .option("--json", "print as JSON")
  .action(async (options) => (await import("./commands/doctor.js")).doctor(options, config()));

program
  .command("bench")
  .argument(
    "[suites...]",
    "all, or some of media, video, image, audio, queue, load, cold, soak, text, mlperf-video; all when left out",
  )
  .description("measures; prints ratios and verdicts; writes JSON, SVG and summary.md")
  .option("--out <folder>", "where the files go", "bench-results")
  .option("--rounds <number>", "repetitions of each; 3, or 2 with --quick", parseCount)
  .option("--quick", "few rounds and short loads: a look, not a measurement")
  .option("--compare <path>", "JSON of an earlier run, or a folder of such: adds now / then")
  .option("--embedded", "in-process broker and embedded database, whatever AMQP_URL says")
  .option("--objective <seconds>", "load: within which a clip should end; 15", parseAmount)
  .option("--reply-objective <seconds>", "load: the same for an embedding; 0.1", parseAmount)
  .option(
    "--dollars-per-hour <amount>",
    "what an hour of the machine costs; 0.1, two cores of a cloud",
    parseAmount,
  )
  .option("--model <id>", "mlperf-video: package of MODELS_DIR that holds its model")
  .option("--prompts <file>", "mlperf-video: its prompts, one a line")
  .option("--peer-models <folders...>", "published models for text that transformers.js opens too")
  .action(async (suites: string[], options) =>
    (await import("./commands/bench.js")).bench(suites, options, config()),
  );

program
  .command("bench-graph")
  .argument("<file>", "an ONNX file")
  .description("times one graph on one execution provider, opened and run as a worker does it")
  .option("--provider <name>", "cpu, webgpu, cuda or tensorrt", "cpu")
  .option("--dims <name=size...>", "sizes of the free dimensions", parseDims, {})
  .option("--feeds <folder>", "raw values of each input as <input>.bin; made of the seed otherwise")
  .option("--seed <number>", "of the values that are fed", parseCount, 1)
  .option("--rounds <number>", "runs of each kind", parseCount, 10)
  .option("--out <file>", "the result as JSON")
  .option("--paced", "one run for each line on standard input: kept, returned, save <folder>")
  .action(async (file: string, options) =>
    (await import("./commands/bench-graph.js")).benchOneGraph(file, options, config()),
  );

function parseDims(text: string, earlier: Readonly<Record<string, number>>) {
  const [name = "", size = ""] = text.split("=");
  if (name === "") throw new InvalidArgumentError(`must be a name and a size, got ${text}`);
  return { ...earlier, [name]: parseCount(size) };
}

try {
  await program.parseAsync();
} catch (thrown) {
  if (thrown instanceof CommanderError) process.exitCode = thrown.exitCode;
  else {
    process.stderr.write(
      `framemill: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`,
    );
    process.exitCode = 1;
  }
}
