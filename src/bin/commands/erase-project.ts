import { createInterface } from "node:readline/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../config.js";
import type { Erasure } from "../../front/ledger/index.js";
import { UsageError } from "../usage-error.js";
import { withOperations } from "./operations.js";
import { printJson } from "./table.js";

interface EraseOptions {
  readonly yes?: boolean;
  readonly wait?: boolean;
  readonly json?: boolean;
}

const POLL_MS = 2_000;

/** Says what would be removed, wants the project's id, and follows the fronts that remove it. */
export async function eraseProject(
  idOrName: string,
  { yes = false, wait = false, json = false }: EraseOptions,
  config: Config,
): Promise<void> {
  await withOperations(config, async (operations) => {
    const plan = await operations.findErasure(idOrName);
    if (!json) process.stdout.write(describe(plan));
    if (plan.erasedAt !== null) return json ? printJson(plan) : undefined;
    if (!yes) await confirm(plan);
    let state = await operations.eraseProject(plan.projectId);
    while (wait && state.erasedAt === null) {
      if (!json) process.stderr.write(`${state.jobs} jobs left\n`);
      await sleep(POLL_MS);
      state = await operations.findErasure(plan.projectId);
    }
    if (json) return printJson(state);
    const done = state.erasedAt === null ? "begun: fronts remove it within minutes" : "done";
    process.stdout.write(`erasure of ${plan.projectId} ${done}\n`);
  });
}

function describe(plan: Erasure): string {
  const { projectId, project, jobs, openJobs, keys, hasWebhookSecret, charges } = plan;
  if (plan.erasedAt !== null) return `${projectId} was erased at ${plan.erasedAt}\n`;
  const begun = plan.askedAt === null ? "" : `begun at ${plan.askedAt}, it goes on\n`;
  return (
    `${projectId} ${JSON.stringify(project)}\n${begun}` +
    `removes ${jobs} jobs with their prompts, outputs and files (${openJobs} open ones are cancelled), ` +
    `${keys} keys${hasWebhookSecret ? ", the webhook secret" : ""} and the name\n` +
    `keeps ${charges} charges: ids, models, units and amounts, no content\n`
  );
}

async function confirm({ projectId }: Erasure): Promise<void> {
  if (!process.stdin.isTTY) throw new UsageError("there is no terminal to ask at: give --yes");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(`this cannot be undone; type ${projectId} to go on: `);
  terminal.close();
  if (answer.trim() !== projectId) throw new Error("nothing was removed");
}
