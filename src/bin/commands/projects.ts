import type { Config } from "../../config.js";
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
