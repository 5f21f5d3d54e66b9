import type { Config } from "../../config.js";
import {
  faultOf,
  migrate as migrateSchema,
  openDatabase,
  openMigrator,
  readSchema,
} from "../../front/ledger/index.js";
import { createLog } from "../log.js";

export interface MigrateOptions {
  readonly check?: boolean;
  readonly contract?: boolean;
}

/** Brings the schema of the configured database up to date, or says what it lacks. */
export async function migrate(options: MigrateOptions, config: Config): Promise<void> {
  const { databaseUrl } = config;
  if (databaseUrl === undefined) return await migrateEmbedded(config);
  const db = openMigrator(databaseUrl);
  try {
    if (options.check !== true)
      await migrateSchema(db, { contract: options.contract === true, say });
    const schema = await readSchema(db);
    const fault = faultOf(schema);
    say(fault ?? "the schema has all that this release needs");
    if (schema.contractions.length > 0)
      say(
        `once all fronts are of this release: migrate --contract (${schema.contractions.join(", ")})`,
      );
    if (fault !== undefined) process.exitCode = 1;
  } finally {
    await db.close();
  }
}

/** The embedded database is brought up to date whenever it is opened. */
async function migrateEmbedded({ dataDir }: Config): Promise<void> {
  const log = createLog({ logLevel: "error" }, "framemill");
  await (await openDatabase({ dataDir, log })).close();
  say("the embedded database has all that this release needs");
}

function say(sentence: string): void {
  process.stdout.write(`${sentence}\n`);
}
