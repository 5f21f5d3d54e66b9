import type { Config } from "../../config.js";
import { withOperations } from "./operations.js";
import { printJson, printTable } from "./table.js";

interface CreateOptions {
  readonly project: string;
  readonly name: string;
  readonly json?: boolean;
}

export async function createKey(options: CreateOptions, config: Config): Promise<void> {
  const { project, name, json } = options;
  const created = await withOperations(config, (operations) => operations.createKey(project, name));
  if (json) printJson(created);
  else process.stdout.write(`${created.key}\n`);
}

export async function listKeys(
  options: { readonly json?: boolean },
  config: Config,
): Promise<void> {
  const keys = await withOperations(config, (operations) => operations.listKeys());
  if (options.json) return printJson(keys);
  printTable(
    keys.map((key) => ({
      id: key.id,
      project: key.projectId,
      name: key.name,
      state: key.revokedAtMs === null ? "active" : "revoked",
    })),
  );
}

export async function revokeKey(id: string, config: Config): Promise<void> {
  const revoked = await withOperations(config, (operations) => operations.revokeKey(id));
  if (!revoked) throw new Error(`there is no active key ${id}`);
  process.stdout.write(`${id} is revoked\n`);
}
