import { JobError } from "../../core/errors.js";
import type { JobView, Modality } from "../../core/modality.js";
import { shownFailure } from "../http/index.js";
import type { Estimates } from "./estimates.js";
import type { JobRecord } from "../ledger/index.js";

/** The public object of a job. */
export function renderJob(
  modality: Modality,
  record: JobRecord,
  estimates: Estimates,
): Record<string, unknown> {
  if (modality.render !== undefined) return modality.render(toView(modality, record, estimates));
  throw new JobError("server_error", `${modality.name} has no object`);
}

function toView({ schemas }: Modality, record: JobRecord, estimates: Estimates): JobView {
  const completed = record.state === "completed";
  return {
    id: record.id,
    model: record.model,
    state: record.state,
    request: record.request,
    progress: record.progress,
    stage: record.state === "in_progress" ? record.stage : null,
    createdAtMs: record.created_at.getTime(),
    startedAtMs: record.started_at?.getTime() ?? null,
    completedAtMs: completed ? (record.ended_at?.getTime() ?? null) : null,
    expiresAtMs: record.expires_at?.getTime() ?? null,
    failure: record.failure && shownFailure(record.failure),
    queuePosition: queuePosition(record),
    etaSeconds: estimates.etaSeconds(record),
    quote: {
      prices: record.prices,
      units: record.quoted_units,
      amountNanoUsd: record.amount_nano_usd,
    },
    chargedNanoUsd: record.charged_nano_usd ?? (record.state === "failed" ? 0 : null),
    usage: record.usage,
    output: outputOf(schemas, record),
  };
}

/** Null until the job completed, and where it is forgotten. */
function outputOf({ output }: Modality["schemas"], record: JobRecord): unknown {
  return record.output === null ? null : output.parse(record.output);
}

/** 1 = next to start, 0 = started, null once the job has ended. */
function queuePosition({ state, jobs_ahead: ahead }: JobRecord): number | null {
  if (state === "queued") return ahead === null ? null : ahead + 1;
  return state === "in_progress" ? 0 : null;
}
