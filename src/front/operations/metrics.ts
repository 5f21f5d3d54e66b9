import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { cached } from "../../core/async/cached.js";
import { addProcessMetrics } from "../../http/process-metrics.js";
import { type AnsweredRequest, type MetricsPage, PARTS, type PartStates } from "../http/index.js";
import type { Estimates } from "../jobs/index.js";
import {
  type Database,
  type Db,
  type FrontSummary,
  type GpuCost,
  listFronts,
  OPEN,
  readChargeTotals,
  readGpuCost,
  readGpuRate,
  readTotals,
  sql,
  type Totals,
} from "../ledger/index.js";

export interface Metrics extends MetricsPage {
  readonly observeRequest: (request: AnsweredRequest) => void;
}

/** Numbers of the ledger are read from it, so every replica shows the same. */
export function createMetrics(
  db: Database,
  estimates: Estimates,
  partStates: () => PartStates,
  { maxGpuDollarsPerHour }: { readonly maxGpuDollarsPerHour?: number | undefined } = {},
): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const renderLedger = createLedgerMetrics(db, estimates, maxGpuDollarsPerHour);
  addProcessMetrics(registry);
  const requests = new Counter({
    name: "framemill_http_requests_total",
    help: "Answers by method, route and status.",
    labelNames: ["method", "route", "status"],
    registers,
  });
  const durations = new Histogram({
    name: "framemill_http_seconds",
    help: "Time to answer by method and route.",
    labelNames: ["method", "route"],
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 60],
    registers,
  });
  const partUp: Gauge<"part"> = new Gauge({
    name: "framemill_part_up",
    help: "1 while this front can use a part that only some requests need, 0 otherwise.",
    labelNames: ["part"],
    registers,
    collect() {
      const states = partStates();
      for (const part of PARTS) partUp.set({ part }, states[part] === "ok" ? 1 : 0);
    },
  });
  return {
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
    observeRequest({ method, route, status, seconds }) {
      requests.inc({ method, route, status });
      durations.observe({ method, route }, seconds);
    },
    async render() {
      const parts = [registry.metrics(), renderLedger()];
      return (await Promise.all(parts)).join("\n");
    },
  };
}

interface OpenJobs {
  readonly model: string;
  readonly tier: string;
  readonly state: string;
  readonly jobs: number;
  /** Of them, those that a worker holds. */
  readonly held: number;
  readonly oldest_seconds: number | null;
}

/** What is open now: as quick as there are few open jobs. */
interface Present {
  readonly jobs: readonly OpenJobs[];
  readonly outstanding: Awaited<ReturnType<Estimates["outstandingByTier"]>>;
  readonly fronts: readonly FrontSummary[];
  readonly gpuNanoUsdPerHour: number;
}

interface History extends Totals {
  readonly charges: Awaited<ReturnType<typeof readChargeTotals>>;
  /** Attempts without an end, lost ones among them. */
  readonly unended: number;
  /** Of today (UTC), by model, tier and service tier. */
  readonly costs: readonly GpuCost[];
}

interface Readings {
  /** Undefined where the database does not answer. */
  readonly present: Present | undefined;
  /** Undefined where it could not be read. */
  readonly history: History | undefined;
}

const DAY_MS = 86_400_000;
/** Scrapes that come together, and those of several Prometheus servers, share one reading. */
const FRESH_MS = 2_000;

/** Prometheus text of what the ledger holds; of its absence where it cannot be read. */
function createLedgerMetrics(
  db: Db,
  estimates: Pick<Estimates, "outstandingByTier">,
  ceiling: number | undefined,
): () => Promise<string> {
  const read = cached(FRESH_MS, async (): Promise<Readings> => {
    const [present, history] = await Promise.all([
      readPresent(db, estimates).catch(() => undefined),
      readPast(db).catch(() => undefined),
    ]);
    return { present, history };
  });
  return async () => await render(await read(), ceiling);
}

async function render(
  { present, history }: Readings,
  ceiling: number | undefined,
): Promise<string> {
  const registry = new Registry();
  addGauge(registry, "framemill_ledger_up", "1 while the database answers, 0 otherwise.").set(
    present === undefined ? 0 : 1,
  );
  const help = "1 while totals can be read from the database, 0 otherwise.";
  addGauge(registry, "framemill_ledger_history_up", help).set(history === undefined ? 0 : 1);
  addJobs(registry, present, history);
  if (present !== undefined) addFronts(registry, present);
  if (present !== undefined) addGpuRate(registry, present, ceiling);
  if (history !== undefined) addMoney(registry, present, history);
  if (history !== undefined) addGpuCost(registry, history);
  return await registry.metrics();
}

async function readPresent(
  db: Db,
  { outstandingByTier }: Pick<Estimates, "outstandingByTier">,
): Promise<Present> {
  const [jobs, outstanding, fronts, gpuNanoUsdPerHour] = await Promise.all([
    countOpen(db),
    outstandingByTier(),
    listFronts(db),
    readGpuRate(db),
  ]);
  return { jobs, outstanding, fronts, gpuNanoUsdPerHour };
}

async function readPast(db: Db): Promise<History> {
  const [since = "", until = ""] = [0, 1].map((days) =>
    new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10),
  );
  const [totals, charges, unended, costs] = await Promise.all([
    readTotals(db),
    readChargeTotals(db),
    countUnended(db),
    readGpuCost(db, { since, until, by: ["model", "tier", "service_tier"] }),
  ]);
  return { ...totals, charges, unended, costs };
}

function addGauge<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  ...labelNames: Label[]
): Gauge<Label> {
  return new Gauge({ name, help, labelNames, registers: [registry] });
}

/** A front that went without leaving is counted for an hour. */
function addFronts(registry: Registry, { fronts }: Present): void {
  const help = "Fronts by state: ready, or gone without a word within the last hour.";
  const count = addGauge(registry, "framemill_fronts", help, "state");
  for (const state of ["ready", "gone"] as const)
    count.set({ state }, fronts.filter((front) => front.state === state).length);
}

function addGpuRate(
  registry: Registry,
  { gpuNanoUsdPerHour }: Present,
  ceiling: number | undefined,
): void {
  const help = "What all workers that announce themselves cost an hour, as they say it.";
  addGauge(registry, "framemill_gpu_dollars_per_hour", help).set(gpuNanoUsdPerHour / 1e9);
  if (ceiling === undefined) return;
  const most = "MAX_GPU_DOLLARS_PER_HOUR, which the scaler keeps.";
  addGauge(registry, "framemill_gpu_dollars_per_hour_limit", most).set(ceiling);
}

/** Time that nobody used has empty labels. */
function addGpuCost(registry: Registry, { costs }: History): void {
  const help = "Dollars that workers' time cost today (UTC), by what it was used for.";
  const cost = addGauge(registry, "framemill_gpu_cost_dollars", help, ...COST_LABELS);
  for (const { model, tier, serviceTier, ...parts } of costs) {
    const labels = { model: model ?? "", tier: tier ?? "", service_tier: serviceTier ?? "" };
    cost.set({ ...labels, part: "worked" }, parts.workedNanoUsd / 1e9);
    cost.set({ ...labels, part: "lost" }, parts.lostNanoUsd / 1e9);
    cost.set({ ...labels, part: "starting" }, parts.startingNanoUsd / 1e9);
    cost.set({ ...labels, part: "idle" }, parts.idleNanoUsd / 1e9);
  }
}

const COST_LABELS = ["model", "tier", "service_tier", "part"] as const;

function addJobs(
  registry: Registry,
  present: Present | undefined,
  history: History | undefined,
): void {
  const count = addGauge(
    registry,
    "framemill_jobs",
    "Jobs by model, tier and state: open ones now (state queued is the queue depth), ended ones ever.",
    "model",
    "tier",
    "state",
  );
  const ages = new Map<string, number>();
  for (const { model, tier, state, jobs } of history?.jobs ?? []) {
    count.set({ model, tier, state }, jobs);
    ages.set(model, 0);
  }
  if (present === undefined) return;
  for (const { model, tier, state, jobs, oldest_seconds: seconds } of present.jobs) {
    count.set({ model, tier, state }, jobs);
    ages.set(model, Math.max(ages.get(model) ?? 0, seconds ?? 0));
  }
  const help = "How long the oldest queued job of a model has waited, flex jobs aside.";
  const age = addGauge(registry, "framemill_queue_age_seconds", help, "model");
  for (const [model, seconds] of ages) age.set({ model }, seconds);
  const seconds = addGauge(
    registry,
    "framemill_outstanding_seconds",
    "Compute-seconds that queued and running jobs will need, as far as their kind was measured.",
    "service_tier",
  );
  for (const [tier, outstanding] of present.outstanding)
    seconds.set({ service_tier: tier }, outstanding.seconds);
}

function addMoney(registry: Registry, present: Present | undefined, history: History): void {
  const add = (name: string, help: string) => addGauge(registry, name, help);
  const { attempts, charges, jobs, unended } = history;
  const tries = addGauge(
    registry,
    "framemill_attempts",
    "Attempts by outcome; lost are those whose lease ended without a report.",
    "outcome",
  );
  for (const { outcome, attempts: found } of attempts) tries.set({ outcome }, found);
  if (present !== undefined) {
    const running = present.jobs.reduce((sum, { held }) => sum + held, 0);
    tries.set({ outcome: "running" }, running);
    const lost = attempts.find(({ outcome }) => outcome === "lost")?.attempts ?? 0;
    tries.set({ outcome: "lost" }, lost + Math.max(0, unended - running));
  }
  const gpuMs = attempts.reduce((sum, { gpuMs: part }) => sum + part, 0);
  add("framemill_gpu_seconds", "GPU seconds of all attempts, charged or not.").set(gpuMs / 1_000);
  add("framemill_charges", "Charged jobs.").set(charges.charges);
  add("framemill_charged_micro_usd", "Micro-dollars charged.").set(charges.nanoUsd / 1_000);
  add(
    "framemill_unrecorded_usage",
    "Completed jobs without a charge in the ledger: never anything but 0.",
  ).set(jobs.reduce((sum, { uncharged }) => sum + uncharged, 0));
}

async function countOpen(db: Db): Promise<readonly OpenJobs[]> {
  const { rows } = await sql<OpenJobs>`SELECT model, tier, state, count(*)::int AS jobs,
    count(*) FILTER (WHERE state = 'in_progress' AND lease_until > now())::int AS held,
    extract(epoch FROM now() - min(created_at)
      FILTER (WHERE state = 'queued' AND service_tier <> 'flex'))::double precision AS oldest_seconds
    FROM jobs WHERE ${OPEN} GROUP BY model, tier, state`.execute(db);
  return rows;
}

/** A lease that ended in silence leaves its attempt without an outcome. */
async function countUnended(db: Db): Promise<number> {
  const { rows } = await sql<{ unended: number }>`SELECT count(*)::int AS unended FROM attempts
    WHERE outcome IS NULL`.execute(db);
  return rows[0]?.unended ?? 0;
}
