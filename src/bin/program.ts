import { Command, Option } from "commander";
import { loadConfig, type Config } from "../config.js";
import { systemCodeOf } from "../core/errors.js";
import { SERVICE_TIERS } from "../core/service-tier.js";
import { TIER_NAMES } from "../modalities/video/request.js";
import { addOperatingCommands, addTenantCommands } from "./operating-commands.js";
import { parsePort, type ReadConfig, UsageError } from "./option-values.js";
import { VERSION } from "./version.js";

/** The code of the commands, which is read when one of them is run. */
const load = {
  log: () => import("./log.js"),
  stack: () => import("./stack.js"),
  parts: () => import("./parts.js"),
  supervisor: () => import("./supervisor.js"),
  migrate: () => import("./commands/migrate.js"),
  generate: () => import("./commands/generate.js"),
  models: () => import("./commands/models.js"),
  doctor: () => import("./commands/doctor.js"),
  verify: () => import("./commands/verify.js"),
};

const EXIT_CODES = `
Exit codes: 0 done · 1 failed · 2 not a command, option or value it takes · 130 interrupted
docs/commands.md says more, and what each command takes`;

/** The command tree. Nothing is run, and no command's code is loaded, before `parseAsync`. */
export async function createProgram(): Promise<Command> {
  const bench = await openBenchPackage();
  const program = new Command("framemill")
    .description(
      "Turns a queue of generation jobs into finished media. Settings come from the environment: docs/getting-started.md",
    )
    .version(VERSION)
    .option(
      "--data, --data-dir <folder>",
      "embedded database, local artifacts and dev.json (DATA_DIR)",
    )
    .option("--models-dir <folder>", "model packages (MODELS_DIR)")
    .addHelpText("after", EXIT_CODES)
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("(--help lists what it takes)")
    .exitOverride();
  const config: ReadConfig = (overrides = {}) => {
    const { dataDir, modelsDir } = program.opts<{ dataDir?: string; modelsDir?: string }>();
    return loadConfig({
      ...(dataDir !== undefined && { dataDir }),
      ...(modelsDir !== undefined && { modelsDir }),
      ...overrides,
    });
  };
  program.commandsGroup("Running it:");
  addServiceCommands(program, config);
  addClipCommands(program, config);
  program.commandsGroup("Operating it:");
  addOperatingCommands(program, config);
  addTenantCommands(program, config);
  program.commandsGroup("Models:");
  addVerifyCommand(program);
  addModelCommands(program, config, bench);
  program.commandsGroup("Looking and measuring:");
  addMeasuringCommands(program, config, bench);
  return program;
}

/** `up`, `front`, `worker`: the processes of the service; `migrate`, which goes before them. */
function addServiceCommands(program: Command, config: ReadConfig): void {
  listenOptions(program.command("up"))
    .description("front and worker in one process; embedded parts unless configured otherwise")
    .option(
      "--no-limits",
      "for benchmarks on this machine: no keys, no limits of rate or spending; HOST must be loopback, and web pages are refused",
    )
    .action(async ({ limits, ...options }: Partial<Config> & { readonly limits: boolean }) => {
      (await load.log()).holdWarnings();
      await (await load.stack()).serveStack(config(options), { isUnlimited: !limits });
    });

  listenOptions(program.command("front"))
    .description("the HTTP API and the workers' gRPC endpoint")
    .action(async (options: Partial<Config>) => {
      (await load.log()).holdWarnings();
      await (await load.stack()).serveFront(config(options));
    });

  program
    .command("worker")
    .description("takes jobs from the queue and runs them")
    .option("--front-address <host:port>", "gRPC address of the front (FRONT_ADDRESS)")
    .action(async (options: Partial<Config>) => {
      const { createLog, holdWarnings, logWarnings } = await load.log();
      holdWarnings();
      const settings = config(options);
      if (settings.adoptMs === 0) return await (await load.parts()).serveWorker(settings);
      const log = createLog(settings, "framemill-supervisor");
      logWarnings(log);
      process.exitCode = await (await load.supervisor()).superviseWorker(settings, log);
    });

  program
    .command("migrate")
    .description(
      "brings the database's schema up to date while fronts are at work; before theirs are replaced",
    )
    .option("--check", "say what is missing, exit code 1 where anything is")
    .option("--contract", "take away, too, what only fronts of earlier releases need")
    .action(async (options) => (await load.migrate()).migrate(options, config()));
}

function listenOptions(command: Command): Command {
  return command
    .option("--host <address>", "address to listen on (HOST)")
    .option("--port <number>", "HTTP port, 0 for any free one (PORT)", parsePort);
}

const DEMO_PROMPT = "a red boat sails across the ocean at sunset";

/** `generate` and `demo`. */
function addClipCommands(program: Command, config: ReadConfig): void {
  clipOptions(program.command("generate").argument("<prompt>", "what the clip shows"))
    .description("makes one clip, on a running front or an embedded one")
    .action(async (prompt: string, options) =>
      (await load.generate()).makeClip(prompt, options, config()),
    );

  clipOptions(program.command("demo").argument("[prompt]", "what the clip shows", DEMO_PROMPT))
    .description("makes one clip with everything embedded")
    .action(async (prompt: string, options) =>
      (await load.generate()).makeClip(prompt, options, config()),
    );
}

/** `verify`. */
function addVerifyCommand(program: Command): void {
  program
    .command("verify <file>")
    .description(
      "whether a clip, picture or sound says that a model made it, and is unchanged since",
    )
    .option("--trust <file>", "certificates (PEM) of authorities that vouch for signers")
    .option("--json", "print as JSON")
    .action(async (file: string, options) => (await load.verify()).verify(file, options));
}

function clipOptions(command: Command): Command {
  return command
    .option("--model <id>", "video model", "service-motion-1")
    .addOption(
      new Option(
        "--quality <tier>",
        "fast: 720p · standard: 720p, sound · high: 1080p, sound; the model's usual one when left out",
      ).choices(TIER_NAMES),
    )
    .addOption(
      new Option(
        "--service-tier <tier>",
        "priority goes first, flex fills idle workers at half the price; default when left out",
      ).choices(SERVICE_TIERS),
    )
    .option("--seconds <number>", "length of the clip, 4 to 10", "4")
    .option("--seed <number>", "same seed, same frames")
    .option("--negative-prompt <text>", "what should not be seen")
    .option("--image <file>", "PNG, JPEG or WebP picture to animate")
    .addOption(
      new Option(
        "--fit <how>",
        "a picture of another shape: contain shows all of it, cover fills the frame (contain unless given)",
      ).choices(["contain", "cover"]),
    )
    .option("--out <file>", "MP4 to write", "clip.mp4")
    .option("--base-url <url>", "a running front, with /v1 (FRAMEMILL_BASE_URL)")
    .option("--api-key <key>", "key for --base-url (FRAMEMILL_API_KEY)")
    .option("--trace <file>", "write the clip's trace, OTLP JSON lines, and print it as a tree")
    .option("--json", "print the summary as JSON");
}

/** `models`: packages, and what is published. */
function addModelCommands(program: Command, config: ReadConfig, bench: BenchPackage): void {
  const models = program.command("models").description("model packages");
  models
    .command("list")
    .description("packages in the models folder")
    .option("--json", "print as JSON")
    .action(async (options) => (await load.models()).listModels(options, config()));
  models
    .command("check")
    .argument("[ids...]", "packages; all when left out")
    .option("--no-canary", "run no inference")
    .option(
      "--provider <name>",
      "execution provider, over model.json's; says which nodes ran where",
    )
    .description("hashes every file, opens every graph and runs one inference")
    .action(async (ids: string[], options) =>
      (await load.models()).checkModels(ids, options, config()),
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
    .action(async (ids: string[]) => (await load.models()).measureModels(ids, config()));
  models
    .command("externalise")
    .argument("<ids...>", "packages")
    .description("puts the weights of large graphs into files beside them, which load faster")
    .action(async (ids: string[]) => (await load.models()).externaliseModels(ids, config()));
}

function addPublishedCommands(models: Command, config: ReadConfig): void {
  packageOptions(models.command("add").argument("<folder>", "a published model"))
    .option("--with <folders...>", "further folders to merge in, e.g. one with voices/")
    .description("recognises a published layout, writes its model.json and runs one inference")
    .action(async (folder: string, options) =>
      (await load.models()).addModels(folder, options, config()),
    );
  packageOptions(
    models.command("pull").argument("<repository[@revision]>", "of a model hub, e.g. owner/name"),
  )
    .option(
      "--base-url <url>",
      "the hub; its token is read from HUB_TOKEN",
      "https://huggingface.co",
    )
    .option("--subfolder <path>", "folder of the repository that the model lies in")
    .option("--include <globs...>", "only files whose path matches one of these")
    .description("downloads a published model, resumes where it broke off, and adds it")
    .action(async (repository: string, options) =>
      (await load.models()).pullModel(repository, options, config()),
    );
}

function packageOptions(command: Command): Command {
  return command
    .option("--id <name>", "public name; made of the folder's name when left out")
    .option("--dtype <word>", "graphs to take where there are several: fp32, fp16, q8, q4, q4f16 …")
    .option("--licence <name>", "over what the folder says")
    .addOption(
      new Option("--as <modality>", "where the files of a text model leave it open").choices([
        "chat",
        "embeddings",
        "rerank",
        "moderation",
      ]),
    )
    .addOption(
      new Option(
        "--pooling <word>",
        "how an embedder's token vectors become one, over what its files say",
      ).choices(["mean", "cls", "last"]),
    )
    .option("--shapes <json>", "fields over model.json's shapes, e.g. a classifier's labels")
    .option("--providers <list>", "execution providers in order of preference", "cpu")
    .option("--no-canary", "run no inference");
}

/** What the package in bench/ adds to the command line. */
export interface BenchPackage {
  /** `bench`, `bench-graph` and `simulate-scaling`. */
  readonly addBenchCommands: (program: Command, config: ReadConfig) => void;
  /** `models evaluate`. */
  readonly addEvaluateCommand: (models: Command, config: ReadConfig) => void;
}

/** A string to the compiler, so that src does not depend on bench. */
const BENCH: string = "#framemill/bench/index.js";

/** The package of a checkout; images are without it, and there its commands say where they are. */
async function openBenchPackage(): Promise<BenchPackage> {
  try {
    return await import(BENCH);
  } catch (thrown) {
    if (systemCodeOf(thrown) === "ERR_MODULE_NOT_FOUND") return ABSENT;
    throw thrown;
  }
}

const ABSENT: BenchPackage = {
  addBenchCommands(program) {
    for (const name of ["bench", "bench-graph", "simulate-scaling"]) addAbsent(program, name);
  },
  addEvaluateCommand: (models) => addAbsent(models, "evaluate"),
};

function addAbsent(parent: Command, name: string): void {
  parent
    .command(name, { hidden: true })
    .argument("[arguments...]")
    .allowUnknownOption()
    .action(() => {
      throw new UsageError(
        `${name} is not part of this installation: it is in the repository's bench folder, and runs from a checkout`,
      );
    });
}

/** `doctor`, and what bench/ brings. */
function addMeasuringCommands(program: Command, config: ReadConfig, bench: BenchPackage): void {
  program
    .command("doctor")
    .description(
      "looks at ffmpeg, encoders, execution providers, models, broker, database, storage and front",
    )
    .option("--json", "print as JSON")
    .action(async (options) => (await load.doctor()).doctor(options, config()));
  bench.addBenchCommands(program, config);
}
