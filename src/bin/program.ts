import { Command } from "commander";
import { loadConfig } from "../config.js";
import { addClipCommands } from "./program/clips.js";
import { addMeasuringCommands, openBenchPackage } from "./program/measuring.js";
import { addModelCommands } from "./program/models.js";
import { addOperatingCommands } from "./program/operating.js";
import type { ReadConfig } from "./program/read-config.js";
import { addServiceCommands } from "./program/services.js";
import { addTenantCommands } from "./program/tenants.js";

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
    .version("0.1.0")
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
  addModelCommands(program, config, bench);
  program.commandsGroup("Looking and measuring:");
  addMeasuringCommands(program, config, bench);
  return program;
}
