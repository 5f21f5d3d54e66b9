import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const CONTRACT = "proto/framemill/v1/worker.proto";
/** Fields that came last to the contract. */
const NEWEST = /^ *(?:optional )?\w+ (?:characters|searches|param) = \d+;$/gm;

/** The worker of before the newest fields: it neither sends nor knows them. */
export async function rebuildOlder(build: string): Promise<void> {
  await change(join(build, CONTRACT), (text) => text.replaceAll(NEWEST, ""));
}

/** The worker of a version to come: it says more than today's front knows. */
export async function rebuildNewer(build: string): Promise<void> {
  await change(join(build, CONTRACT), (text) =>
    text.replace("string worker_id = 2;", "$&\n  optional string region = 100;"),
  );
  await change(join(build, "dist/rpc/reporter.js"), (text) =>
    text.replace(
      "client.claim({ jobId, workerId }",
      'client.claim({ jobId, workerId, region: "north" }',
    ),
  );
}

async function change(path: string, edit: (text: string) => string): Promise<void> {
  const text = await readFile(path, "utf8");
  const edited = edit(text);
  if (edited === text)
    throw new Error(`${path} has nothing to change: it is written otherwise now`);
  await writeFile(path, edited);
}
