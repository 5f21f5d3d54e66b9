import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { printJson, printTable } from "../../../src/bin/commands/table.js";
import { UsageError } from "../../../src/bin/option-values.js";
import type { Config } from "../../../src/config.js";
import { drawPlot } from "../report/plot.js";
import { DEPLOYED, POLICIES, type PolicyName, triggersOf } from "./autoscaler.js";
import { type Arrival, generateTrace, type MixPart, parseTrace } from "./trace.js";
import { simulate, type SimulationOptions } from "./simulate.js";
import { type ScalingSummary, seriesOf, summarise } from "./summarise.js";

export interface SimulateOptions {
  readonly arrivals: "poisson" | "daily" | "burst";
  readonly perHour: number;
  readonly hours: number;
  readonly mix?: readonly string[];
  readonly spread: number;
  readonly seed: number;
  readonly policies: readonly string[];
  readonly jobsPerWorker: number;
  readonly secondsPerWorker: number;
  readonly min: number;
  readonly max: number;
  readonly cooldown: number;
  readonly window: number;
  readonly pull: number;
  readonly coldStart: number;
  readonly deadline: number;
  readonly busyLast?: boolean;
  readonly restart?: boolean;
  readonly dollarsPerHour: number;
  readonly out?: string;
  readonly json?: boolean;
}

/** Compute-seconds for a second of clip on a data-centre GPU: a guess, to be replaced by your own. */
const MIX: readonly MixPart[] = [
  { tier: "fast", share: 0.5, secondsPerUnit: 4 },
  { tier: "standard", share: 0.35, secondsPerUnit: 8 },
  { tier: "high", share: 0.15, secondsPerUnit: 20 },
];
/** Before DRAIN_MS is over, what a worker keeps for handing over (docs/operations.md). */
const HANDOVER_MS = 5_000;

/** Plays a trace against each policy; prints a table, and writes JSON and a picture where asked to. */
export async function simulateScaling(
  file: string | undefined,
  options: SimulateOptions,
  config: Config,
): Promise<void> {
  const trace = await readTrace(file, options);
  const runs = checkPolicies(options.policies).map((policy) => {
    const simulated = simulate(trace, simulationOf(policy, options, config));
    const { slots } = config;
    const cost = { policy, slots, dollarsPerGpuHour: options.dollarsPerHour };
    return { summary: summarise(simulated, cost), series: seriesOf(policy, simulated) };
  });
  const summaries = runs.map(({ summary }) => summary);
  if (options.json === true) printJson(summaries);
  else printTable(summaries.map(toRow));
  if (options.out === undefined) return;
  await mkdir(options.out, { recursive: true });
  const path = join(options.out, "scaling");
  const series = runs.flatMap((run) => run.series);
  await writeFile(`${path}.json`, `${JSON.stringify({ options, summaries, series }, null, 2)}\n`);
  await writeFile(`${path}.svg`, await drawPlot(titleOf(file, options, trace), series));
}

async function readTrace(file: string | undefined, options: SimulateOptions): Promise<Arrival[]> {
  if (file !== undefined) return parseTrace(await readFile(file, "utf8"));
  const { arrivals: shape, perHour, hours, spread, seed } = options;
  const mix = options.mix?.map(parsePart) ?? MIX;
  return generateTrace({ shape, perHour, hours, spread, seed, mix });
}

function parsePart(text: string): MixPart {
  const [, tier = "", share, seconds] = /^([\w-]+)=([\d.]+):([\d.]+)$/.exec(text) ?? [];
  const part = { tier, share: Number(share), secondsPerUnit: Number(seconds) };
  if (part.share > 0 && part.secondsPerUnit > 0) return part;
  throw new UsageError(`--mix must be tier=share:seconds, both above 0, got ${text}`);
}

function checkPolicies(names: readonly string[]): PolicyName[] {
  return names.map((name) => {
    const policy = POLICIES.find((known) => known === name);
    if (policy !== undefined) return policy;
    throw new UsageError(`--policies must be among ${POLICIES.join(", ")}, got ${name}`);
  });
}

function simulationOf(
  policy: PolicyName,
  options: SimulateOptions,
  { slots, drainMs }: Config,
): SimulationOptions {
  const { min, max, cooldown, window, deadline } = options;
  if (min > max) throw new UsageError(`--min must be at most --max (${max}), got ${min}`);
  return {
    autoscaler: {
      ...DEPLOYED,
      triggers: triggersOf(policy, options),
      minReplicas: min,
      maxReplicas: max,
      cooldownSeconds: cooldown,
      scaleDown: { ...DEPLOYED.scaleDown, stabilizationSeconds: window },
    },
    pods: {
      slots,
      startSeconds: options.pull + options.coldStart,
      drainSeconds: Math.max(drainMs / 2, drainMs - HANDOVER_MS) / 1_000,
      busyLast: options.busyLast ?? false,
      resumes: options.restart !== true,
    },
    deadlineSeconds: deadline,
  };
}

function toRow(summary: ScalingSummary): Record<string, string | number> {
  const { waitSeconds: wait, gpuSecondsPaid, utilisation, meanPods } = summary;
  return {
    policy: summary.policy,
    served: summary.served,
    dropped: summary.dropped,
    "wait p50": `${wait.p50.toFixed(1)} s`,
    p90: `${wait.p90.toFixed(1)} s`,
    p99: `${wait.p99.toFixed(1)} s`,
    "GPU hours": (gpuSecondsPaid / 3_600).toFixed(2),
    busy: `${Math.round(utilisation * 100)}%`,
    "pods mean": meanPods.toFixed(2),
    max: summary.maxPods,
    "handed over": summary.handedOver,
    cost: `$${summary.dollars.toFixed(2)}`,
    "a job": `$${summary.dollarsPerJob.toFixed(4)}`,
  };
}

function titleOf(
  file: string | undefined,
  { arrivals, perHour, hours, seed }: SimulateOptions,
  trace: readonly Arrival[],
): string {
  if (file !== undefined) return `Scaling: ${trace.length} jobs of ${file}`;
  return `Scaling: ${arrivals}, ${perHour} jobs an hour for ${hours} h, seed ${seed}`;
}
