import { type Command, Option } from "commander";
import {
  parseAmount,
  parseGroups,
  parseMonth,
  parsePage,
  parseTime,
  parseCount,
  parseDollars,
  type ReadConfig,
} from "./option-values.js";

/** The code of the commands, which is read when one of them is run. */
const load = {
  reports: () => import("./commands/reports.js"),
  top: () => import("./commands/top.js"),
  trace: () => import("./commands/trace.js"),
  jobs: () => import("./commands/jobs.js"),
  tenants: () => import("./commands/tenants.js"),
};

/** `jobs`, `usage`, `audit`, `top`, `trace` and `workers`: what a running service does. */
export function addOperatingCommands(program: Command, config: ReadConfig): void {
  addJobCommands(program, config);
  program
    .command("usage")
    .description("what projects used and were charged; from the start of this month (UTC)")
    .option("--project <name>", "id or name; all when left out")
    .option("--since <time>", "a date, a time, or e.g. 24h or 7d ago", parseTime)
    .option("--until <time>", "not included", parseTime)
    .option(
      "--by <groups>",
      "some of day,project,key,model,tier,service_tier; project,model,tier,service_tier when left out",
      parseGroups,
    )
    .addOption(
      new Option(
        "--cost",
        "what was charged beside what the workers' time cost, of whole days; not by key",
      ).conflicts("month"),
    )
    .addOption(
      new Option("--month <month>", "what each project owes for e.g. 2026-11, rounded to the cent")
        .argParser(parseMonth)
        .conflicts(["since", "until", "by"]),
    )
    .addOption(new Option("--csv", "print as comma-separated values").conflicts("json"))
    .option("--json", "print as JSON")
    .action(async (options) => (await load.reports()).listUsage(options, config()));
  program
    .command("audit")
    .description("what was changed by admin keys and the command line, newest first")
    .option("--limit <count>", "most entries, 1 to 1000", parsePage, 50)
    .option("--since <time>", "a date, a time, or e.g. 24h or 7d ago", parseTime)
    .option("--actor <name>", "of one admin key, or cli:USER")
    .option("--json", "print as JSON")
    .action(async (options) => (await load.reports()).listAudit(options, config()));
  program
    .command("top")
    .description("queues, workers, waits and failures, live; q or Ctrl-C ends it")
    .option("--once", "one look as plain text, as also where the output is no terminal")
    .option("--every <seconds>", "between two looks", parseAmount, 1)
    .option("--json", "one look as JSON")
    .action(async (options) => (await load.top()).top(options, config()));
  program
    .command("trace")
    .argument("<file>", "OTLP JSON lines, as TRACES_FILE and --trace write them")
    .option("--id <trace>", "trace id; the trace of most spans when left out")
    .option("--svg <file>", "draw it, too")
    .option("--json", "print as JSON")
    .description("prints one trace as a tree: every hop with its process, start and length")
    .action(async (file: string, options) => (await load.trace()).showTrace(file, options));
  const workers = program.command("workers").description("workers that announce themselves");
  workers
    .command("list")
    .description("what they compute on, and what they hold")
    .option("--json", "print as JSON")
    .action(async (options) => (await load.top()).listWorkers(options, config()));
  workers
    .command("drain")
    .argument("<id>", "as workers list prints it")
    .option("--undo", "let it take jobs again")
    .description("lets a worker finish its jobs and take no more, also when it starts again")
    .action(async (id: string, options) => (await load.top()).drainWorker(id, options, config()));
}

function addJobCommands(program: Command, config: ReadConfig): void {
  const jobs = program.command("jobs").description("jobs of all projects, without their prompts");
  jobs
    .command("list", { isDefault: true })
    .description("newest first: state, attempts, charge")
    .option("--limit <count>", "most jobs, 1 to 1000", parsePage, 20)
    .option("--after <id>", "those before this one, as the last of the page before")
    .addOption(
      new Option("--state <state>", "only these").choices([
        "queued",
        "in_progress",
        "completed",
        "failed",
      ]),
    )
    .option("--modality <name>", "only of this one, e.g. video")
    .option("--model <id>", "only of this one")
    .option("--project <name>", "id or name")
    .option("--since <time>", "accepted since: a date, a time, or e.g. 24h or 7d ago", parseTime)
    .option("--json", "print as JSON")
    .action(async (options) => (await load.jobs()).listJobs(options, config()));
  jobs
    .command("show")
    .argument("<id>", "as jobs list prints it")
    .description("one job with every attempt, its price and why it failed")
    .option("--json", "print as JSON")
    .action(async (id: string, options) => (await load.jobs()).showJob(id, options, config()));
  jobs
    .command("cancel")
    .argument("<ids...>", "jobs that have not ended")
    .description("ends jobs: what no caller was sent costs nothing; a worker stops within 5 s")
    .option("--json", "print as JSON")
    .action(async (ids: string[], options) =>
      (await load.jobs()).cancelJobs(ids, options, config()),
    );
  jobs
    .command("retry")
    .argument("<ids...>", "jobs that failed")
    .description("accepts their requests again, each as a new job at the old one's price")
    .option("--json", "print as JSON")
    .action(async (ids: string[], options) =>
      (await load.jobs()).retryJobs(ids, options, config()),
    );
  jobs
    .command("dead-letters")
    .description("messages that the broker has put aside, oldest first, and why")
    .option("--limit <count>", "most messages, 1 to 1000", parsePage, 20)
    .option("--replay <ids...>", "puts these back into their queues")
    .option("--drop <ids...>", "forgets these")
    .option("--json", "print as JSON")
    .action(async (options) => (await load.jobs()).deadLetters(options, config()));
}

/** `keys` and `projects`. */
export function addTenantCommands(program: Command, config: ReadConfig): void {
  const keys = program.command("keys").description("API keys of projects");
  keys
    .command("create")
    .description("makes a key and prints it, once")
    .option("--project <name>", "project that pays; made when there is none", "default")
    .option("--name <text>", "what the key is for", "cli")
    .option("--json", "print as JSON")
    .action(async (options) => (await load.tenants()).createKey(options, config()));
  keys
    .command("list")
    .description("keys without their secrets")
    .option("--json", "print as JSON")
    .action(async (options) => (await load.tenants()).listKeys(options, config()));
  keys
    .command("revoke")
    .argument("<id>", "key_…")
    .description("a revoked key answers 401 from now on")
    .action(async (id: string) => (await load.tenants()).revokeKey(id, config()));

  const projects = program.command("projects").description("projects, their limits and secrets");
  projects
    .command("list")
    .description("projects with their limits")
    .option("--json", "print as JSON")
    .action(async (options) => (await load.tenants()).listProjects(options, config()));
  projects
    .command("set")
    .argument("<name>", "made when there is none")
    .description("limits of a project; what is left out stays")
    .option("--requests-per-minute <count>", "requests a minute", parseCount)
    .option("--tokens-per-minute <count>", "tokens a minute", parseCount)
    .option("--monthly-limit <dollars>", "spending a month in dollars, or none", parseDollars)
    .option("--weight <number>", "share of the workers beside projects of weight 1", parseAmount)
    .action(async (name: string, options) =>
      (await load.tenants()).setProject(name, options, config()),
    );
  projects
    .command("erase")
    .argument("<project>", "id, or a name that only it has")
    .option("--yes", "do not ask")
    .option("--wait", "until nothing is left of it")
    .option("--json", "print as JSON")
    .description("removes a project's prompts, outputs, files, keys and name; keeps its charges")
    .action(async (project: string, options) =>
      (await load.tenants()).eraseProject(project, options, config()),
    );
  projects
    .command("webhook-secret")
    .argument("<name>", "made when there is none")
    .option("--renew", "make another one: what the old one signs is no longer believed")
    .description("prints the secret that signs the project's webhooks")
    .action(async (name: string, options) =>
      (await load.tenants()).printWebhookSecret(name, options, config()),
    );
}
