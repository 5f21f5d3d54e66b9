import {
  COST_GROUPS,
  type CostGroup,
  type Db,
  type GpuCost,
  readGpuCost,
} from "../ledger/index.js";
import { JobError } from "../../core/errors.js";
import type { UsageGroup } from "../../core/usage.js";
import { exactUsd, summariseUsage, toCsv, type UsageQuery, type UsageSummary } from "./usage.js";

/** What was charged to a group, what its share of the workers' time cost, and what is left. */
export interface Margin extends GpuCost {
  readonly chargedNanoUsd: number;
  /** Charged less cost; below 0 where the group costs more than it brings. */
  readonly marginNanoUsd: number;
}

const DAY_MS = 86_400_000;

/** Of whole days (UTC), those that the two moments cut included; from the start of this month by default. */
export async function readMargins(db: Db, query: UsageQuery): Promise<Margin[]> {
  const { project, by = ["project", "model", "tier", "service_tier"] } = query;
  const groups = by.map(costGroup);
  const { since, until } = wholeDays(query);
  const [costs, charges] = await Promise.all([
    readGpuCost(db, { project, since, until, by: groups }),
    summariseUsage(db, { ...query, since: `${since}T00:00:00Z`, until: `${until}T00:00:00Z`, by }),
  ]);
  const costOf = new Map(costs.map((cost) => [keyOf(cost), cost]));
  const chargeOf = new Map(charges.map((charge) => [keyOf(charge), charge]));
  const free = charges.filter((charge) => !costOf.has(keyOf(charge)));
  return [...costs, ...free.map(withoutCost)]
    .map((cost): Margin => {
      const { chargedNanoUsd = 0 } = chargeOf.get(keyOf(cost)) ?? {};
      return Object.assign(cost, {
        chargedNanoUsd,
        marginNanoUsd: chargedNanoUsd - cost.gpuNanoUsd,
      });
    })
    .toSorted((a, b) => (a.day ?? "").localeCompare(b.day ?? "") || b.gpuNanoUsd - a.gpuNanoUsd);
}

function withoutCost(charge: UsageSummary): GpuCost {
  const { day, projectId, project, modality, model, tier, serviceTier } = charge;
  return {
    ...(day !== undefined && { day }),
    ...(projectId !== undefined && { projectId, project: project ?? null }),
    ...(model !== undefined && { modality: modality ?? null, model }),
    ...(tier !== undefined && { tier }),
    ...(serviceTier !== undefined && { serviceTier }),
    workedNanoUsd: 0,
    lostNanoUsd: 0,
    startingNanoUsd: 0,
    idleNanoUsd: 0,
    gpuNanoUsd: 0,
  };
}

function costGroup(group: UsageGroup): CostGroup {
  const found = COST_GROUPS.find((known) => known === group);
  if (found !== undefined) return found;
  throw new JobError(
    "invalid_value",
    `by: cost is known by ${COST_GROUPS.join(", ")}, not by ${group}`,
    { param: "by" },
  );
}

function wholeDays({ since, until }: UsageQuery): { since: string; until: string } {
  const now = new Date();
  const first = since === undefined ? new Date(now).setUTCDate(1) : Date.parse(since);
  const end = until === undefined ? now.getTime() + DAY_MS : Date.parse(until) + DAY_MS - 1;
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  return { since: dayOf(first), until: dayOf(end) };
}

type Group = Pick<Margin, "day" | "projectId" | "modality" | "model" | "tier" | "serviceTier">;

function keyOf({ day, projectId, modality, model, tier, serviceTier }: Partial<Group>): string {
  const parts = [day, projectId, modality, model, tier, serviceTier];
  return JSON.stringify(parts.map((value) => value ?? ""));
}

/** Margins as comma-separated values (RFC 4180) with a heading; dollars are exact, groups of unused time empty. */
export function marginsCsv(margins: readonly Margin[]): string {
  const heading =
    "day project_id project modality model tier service_tier charged_usd worked_usd lost_usd starting_usd idle_usd gpu_usd margin_usd";
  const rows = margins.map((line) => [
    line.day ?? "",
    line.projectId ?? "",
    line.project ?? "",
    line.modality ?? "",
    line.model ?? "",
    line.tier ?? "",
    line.serviceTier ?? "",
    exactUsd(line.chargedNanoUsd),
    exactUsd(line.workedNanoUsd),
    exactUsd(line.lostNanoUsd),
    exactUsd(line.startingNanoUsd),
    exactUsd(line.idleNanoUsd),
    exactUsd(line.gpuNanoUsd),
    exactUsd(line.marginNanoUsd),
  ]);
  return toCsv([heading.split(" "), ...rows]);
}
