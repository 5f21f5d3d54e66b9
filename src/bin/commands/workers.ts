import type { Config } from "../../config.js";
import { withOperations } from "./operations.js";
import { printJson, printTable } from "./table.js";

const MEBIBYTE = 2 ** 20;

export async function listWorkers(
  { json = false }: { readonly json?: boolean },
  config: Config,
): Promise<void> {
  const workers = await withOperations(config, (operations) => operations.listWorkers());
  if (json) return printJson(workers);
  printTable(
    workers.map(({ workerId, state, drain, device, slots, memoryBytes, models, jobs }) => ({
      worker: workerId,
      state: drain ? "draining" : state,
      device,
      jobs: `${jobs.length} of ${slots}`,
      holds: jobs.map(({ id, progress }) => `${id} ${progress}%`).join(" "),
      "memory MiB": Math.round(memoryBytes / MEBIBYTE),
      models: models.length,
    })),
  );
}

export async function drainWorker(
  id: string,
  { undo = false }: { readonly undo?: boolean },
  config: Config,
): Promise<void> {
  await withOperations(config, (operations) => operations.drainWorker(id, !undo));
  process.stdout.write(undo ? `${id} may take jobs\n` : `${id} takes no more jobs\n`);
}
