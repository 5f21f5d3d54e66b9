import type { Command } from "commander";
import type { Config } from "../../config.js";
import { holdWarnings } from "../warnings.js";
import { parsePort } from "./numbers.js";
import type { ReadConfig } from "./read-config.js";

/** `up`, `front`, `worker`: the processes of the service; `migrate`, which goes before them. */
export function addServiceCommands(program: Command, config: ReadConfig): void {
  listenOptions(program.command("up"))
    .description("front and worker in one process; embedded parts unless configured otherwise")
    .action(async (options: Partial<Config>) => {
      holdWarnings();
      await (await import("../commands/up.js")).up(config(options));
    });

  listenOptions(program.command("front"))
    .description("the HTTP API and the workers' gRPC endpoint")
    .action(async (options: Partial<Config>) => {
      holdWarnings();
      await (await import("../commands/front.js")).front(config(options));
    });

  program
    .command("worker")
    .description("takes jobs from the queue and runs them")
    .option("--front-address <host:port>", "gRPC address of the front (FRONT_ADDRESS)")
    .action(async (options: Partial<Config>) => {
      holdWarnings();
      await (await import("../commands/worker.js")).worker(config(options));
    });

  program
    .command("migrate")
    .description(
      "brings the database's schema up to date while fronts are at work; before theirs are replaced",
    )
    .option("--check", "say what is missing, exit code 1 where anything is")
    .option("--contract", "take away, too, what only fronts of earlier releases need")
    .action(async (options) => (await import("../commands/migrate.js")).migrate(options, config()));
}

function listenOptions(command: Command): Command {
  return command
    .option("--host <address>", "address to listen on (HOST)")
    .option("--port <number>", "HTTP port, 0 for any free one (PORT)", parsePort);
}
