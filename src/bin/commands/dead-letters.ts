import type { Config } from "../../config.js";
import type { DeadLetters } from "../../queue/index.js";
import { withOperations } from "./operations.js";
import { printJson, printTable } from "./table.js";

interface DeadLetterOptions {
  readonly limit: number;
  readonly replay?: readonly string[];
  readonly drop?: readonly string[];
  readonly json?: boolean;
}

/** Lists what the broker has put aside, or puts some of it back, or forgets some. */
export async function deadLetters(options: DeadLetterOptions, config: Config): Promise<void> {
  await withOperations(config, async ({ deadLetters: letters }) => {
    const { replay = [], drop = [] } = options;
    for (const id of replay) await settle(letters, "replay", id);
    for (const id of drop) await settle(letters, "drop", id);
    if (replay.length + drop.length === 0) await list(letters, options);
  });
}

async function list(letters: DeadLetters, { limit, json }: DeadLetterOptions): Promise<void> {
  const found = await letters.list(limit);
  if (json === true) return printJson(found);
  printTable(
    found.map(({ id, routingKey, jobId, reason, fault, diedAt }) => ({
      id,
      queue: routingKey,
      job: jobId ?? "",
      why: fault === null ? reason : `${reason}: ${fault.replaceAll("\n", " ")}`,
      died: diedAt ?? "",
    })),
    "nothing was put aside",
  );
}

async function settle(letters: DeadLetters, move: "replay" | "drop", id: string): Promise<void> {
  if (!(await letters[move](id)))
    throw new Error(`no message ${id} is among the 1000 oldest that were put aside`);
  process.stdout.write(move === "replay" ? `${id} is back in its queue\n` : `${id} is forgotten\n`);
}
