import { createInterface } from "node:readline/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../../config.js";
import type { Erasure } from "../../front/ledger/index.js";
import { UsageError } from "../option-values.js";
import { withOperations } from "./operations.js";
import { printJson, printTable } from "./table.js";

interface ProjectOptions {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  /** Dollars a month, or `none`. */
  readonly monthlyLimit?: number | null;
  readonly weight?: number;
}

export async function listProjects(
  options: { readonly json?: boolean },
  config: Config,
): Promise<void> {
  const projects = await withOperations(config, (operations) => operations.listProjects());
  if (options.json) return printJson(projects);
  printTable(
    projects.map(({ monthlyLimitMicroUsd: limit, ...project }) => ({
      id: project.id,
      name: project.name,
      "requests/min": project.requestsPerMinute,
      "tokens/min": project.tokensPerMinute,
      "limit a month": limit === null ? "none" : `$${(limit / 1_000_000).toFixed(2)}`,
      weight: project.weight,
      webhooks: project.hasWebhookSecret ? "signed" : "no secret",
    })),
  );
}

export async function setProject(
  name: string,
  { requestsPerMinute, tokensPerMinute, monthlyLimit, weight }: ProjectOptions,
  config: Config,
): Promise<void> {
  const limits = {
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
    ...(tokensPerMinute !== undefined && { tokensPerMinute }),
    ...(monthlyLimit !== undefined && { monthlyLimitMicroUsd: toMicroUsd(monthlyLimit) }),
    ...(weight !== undefined && { weight }),
  };
  printJson(await withOperations(config, (operations) => operations.setProject(name, limits)));
}

export async function printWebhookSecret(
  name: string,
  { renew = false }: { readonly renew?: boolean },
  config: Config,
): Promise<void> {
  const secret = await withOperations(config, (operations) =>
    operations.webhookSecret(name, renew),
  );
  process.stdout.write(`${secret}\n`);
}

function toMicroUsd(dollars: number | null): number | null {
  return dollars === null ? null : Math.round(dollars * 1_000_000);
}

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
