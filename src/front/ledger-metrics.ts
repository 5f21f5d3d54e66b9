import { type Kysely, sql } from "kysely";
import { Gauge, Registry } from "prom-client";
import type { Estimates } from "./estimates.js";
import type { Tables } from "./tables.js";

interface JobCount {
  readonly model: string;
  readonly tier: string;
  readonly state: string;
  readonly jobs: number;
  readonly uncharged: number;
  readonly oldest_seconds: number;
}

interface AttemptCount {
  readonly outcome: string;
  readonly attempts: number;
  readonly gpu_ms: number;
}

interface Charges {
  readonly charges: number;
  readonly micro_usd: number;
}

interface Readings {
  readonly jobs: readonly JobCount[];
  readonly attempts: readonly AttemptCount[];
  readonly charges: Charges;
  readonly outstandingSeconds: number;
}

/** Prometheus text of what the ledger holds now; of its absence where it cannot be read. */
export async function renderLedger(
  kysely: Kysely<Tables>,
  estimates: Pick<Estimates, "outstanding">,
): Promise<string> {
  const registry = new Registry();
  const readings = await readLedger(kysely, estimates).catch(() => undefined);
  addGauge(registry, "framemill_ledger_up", "1 while the database answers, 0 otherwise.").set(
    readings === undefined ? 0 : 1,
  );
  if (readings !== undefined) {
    addJobs(registry, readings);
    addMoney(registry, readings);
  }
  return await registry.metrics();
}

async function readLedger(
  kysely: Kysely<Tables>,
  { outstanding }: Pick<Estimates, "outstanding">,
): Promise<Readings> {
  const [jobs, attempts, charges, { seconds: outstandingSeconds }] = await Promise.all([
    countJobs(kysely),
    countAttempts(kysely),
    sumCharges(kysely),
    outstanding([]),
  ]);
  return { jobs, attempts, charges, outstandingSeconds };
}

function addGauge<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  ...labelNames: Label[]
): Gauge<Label> {
  return new Gauge({ name, help, labelNames, registers: [registry] });
}

function addJobs(registry: Registry, { jobs, outstandingSeconds }: Readings): void {
  const count = addGauge(
    registry,
    "framemill_jobs",
    "Jobs in the ledger by model, tier and state; state queued is the queue depth.",
    "model",
    "tier",
    "state",
  );
  const age = addGauge(
    registry,
    "framemill_queue_age_seconds",
    "How long the oldest queued job of a model has waited.",
    "model",
  );
  const ages = new Map<string, number>();
  for (const { model, tier, state, jobs: found, oldest_seconds: seconds } of jobs) {
    count.set({ model, tier, state }, found);
    ages.set(model, Math.max(ages.get(model) ?? 0, state === "queued" ? seconds : 0));
  }
  for (const [model, seconds] of ages) age.set({ model }, seconds);
  addGauge(
    registry,
    "framemill_outstanding_seconds",
    "Compute-seconds that queued and running jobs will need, as far as their kind was measured.",
  ).set(outstandingSeconds);
}

function addMoney(registry: Registry, { jobs, attempts, charges }: Readings): void {
  const add = (name: string, help: string) => addGauge(registry, name, help);
  const tries = addGauge(
    registry,
    "framemill_attempts",
    "Attempts by outcome; lost are those whose lease ended without a report.",
    "outcome",
  );
  for (const { outcome, attempts: found } of attempts) tries.set({ outcome }, found);
  const gpuMs = attempts.reduce((sum, { gpu_ms: part }) => sum + part, 0);
  add("framemill_gpu_seconds", "GPU seconds of all attempts, charged or not.").set(gpuMs / 1_000);
  add("framemill_charges", "Charged jobs.").set(charges.charges);
  add("framemill_charged_micro_usd", "Micro-dollars charged.").set(charges.micro_usd);
  add(
    "framemill_unrecorded_usage",
    "Completed jobs without a charge in the ledger: never anything but 0.",
  ).set(jobs.reduce((sum, { uncharged }) => sum + uncharged, 0));
}

async function countJobs(kysely: Kysely<Tables>): Promise<readonly JobCount[]> {
  const { rows } = await sql<JobCount>`SELECT jobs.model, tier, state, count(*)::int AS jobs,
    count(*) FILTER (WHERE state = 'completed' AND charges.job_id IS NULL)::int AS uncharged,
    extract(epoch FROM now() - min(jobs.created_at))::double precision AS oldest_seconds
    FROM jobs LEFT JOIN charges ON charges.job_id = jobs.id
    GROUP BY jobs.model, tier, state`.execute(kysely);
  return rows;
}

/** A lease that ended in silence leaves its attempt without an outcome. */
async function countAttempts(kysely: Kysely<Tables>): Promise<readonly AttemptCount[]> {
  const { rows } = await sql<AttemptCount>`
    SELECT coalesce(outcome, CASE WHEN jobs.id IS NULL THEN 'lost' ELSE 'running' END) AS outcome,
      count(*)::int AS attempts, coalesce(sum(gpu_ms), 0)::bigint AS gpu_ms
    FROM attempts LEFT JOIN jobs ON jobs.id = attempts.job_id AND jobs.token = attempts.token
      AND jobs.state = 'in_progress' AND jobs.lease_until > now()
    GROUP BY 1`.execute(kysely);
  return rows;
}

async function sumCharges(kysely: Kysely<Tables>): Promise<Charges> {
  const { rows } = await sql<Charges>`SELECT count(*)::int AS charges,
    coalesce(sum(amount_micro_usd), 0)::bigint AS micro_usd FROM charges`.execute(kysely);
  return rows[0] ?? { charges: 0, micro_usd: 0 };
}
