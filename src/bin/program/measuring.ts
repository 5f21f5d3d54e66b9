import type { Command } from "commander";
import { UsageError } from "../usage-error.js";
import type { ReadConfig } from "./read-config.js";

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
export async function openBenchPackage(): Promise<BenchPackage> {
  try {
    return await import(BENCH);
  } catch (thrown) {
    if (isNotFound(thrown)) return ABSENT;
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

function isNotFound(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && thrown.code === "ERR_MODULE_NOT_FOUND";
}

/** `doctor`, and what bench/ brings. */
export function addMeasuringCommands(
  program: Command,
  config: ReadConfig,
  bench: BenchPackage,
): void {
  program
    .command("doctor")
    .description(
      "looks at ffmpeg, encoders, execution providers, models, broker, database, storage and front",
    )
    .option("--json", "print as JSON")
    .action(async (options) => (await import("../commands/doctor.js")).doctor(options, config()));
  bench.addBenchCommands(program, config);
}
