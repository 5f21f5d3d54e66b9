import type { Command } from "commander";
import { parseAmount, parseCount, parseDollars } from "./numbers.js";
import type { ReadConfig } from "./read-config.js";

/** `keys` and `projects`. */
export function addTenantCommands(program: Command, config: ReadConfig): void {
  const keys = program.command("keys").description("API keys of projects");
  keys
    .command("create")
    .description("makes a key and prints it, once")
    .option("--project <name>", "project that pays; made when there is none", "default")
    .option("--name <text>", "what the key is for", "cli")
    .option("--json", "print as JSON")
    .action(async (options) => (await import("../commands/keys.js")).createKey(options, config()));
  keys
    .command("list")
    .description("keys without their secrets")
    .option("--json", "print as JSON")
    .action(async (options) => (await import("../commands/keys.js")).listKeys(options, config()));
  keys
    .command("revoke")
    .argument("<id>", "key_…")
    .description("a revoked key answers 401 from now on")
    .action(async (id: string) => (await import("../commands/keys.js")).revokeKey(id, config()));

  const projects = program.command("projects").description("projects, their limits and secrets");
  projects
    .command("list")
    .description("projects with their limits")
    .option("--json", "print as JSON")
    .action(async (options) =>
      (await import("../commands/projects.js")).listProjects(options, config()),
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
      (await import("../commands/projects.js")).setProject(name, options, config()),
    );
  projects
    .command("erase")
    .argument("<project>", "id, or a name that only it has")
    .option("--yes", "do not ask")
    .option("--wait", "until nothing is left of it")
    .option("--json", "print as JSON")
    .description("removes a project's prompts, outputs, files, keys and name; keeps its charges")
    .action(async (project: string, options) =>
      (await import("../commands/erase-project.js")).eraseProject(project, options, config()),
    );
  projects
    .command("webhook-secret")
    .argument("<name>", "made when there is none")
    .option("--renew", "make another one: what the old one signs is no longer believed")
    .description("prints the secret that signs the project's webhooks")
    .action(async (name: string, options) =>
      (await import("../commands/projects.js")).printWebhookSecret(name, options, config()),
    );
}
