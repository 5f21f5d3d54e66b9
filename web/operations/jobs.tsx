import type { JobSummary } from "../../src/front/operations/jobs.js";
import type { Overview } from "../../src/front/operations/overview.js";
import { formatAgo, formatSeconds, formatUsd } from "../lib/format.js";
import { Section, Table } from "./section.js";
import { shorten } from "./workers.js";

export interface JobsProps extends Pick<Overview, "spending"> {
  readonly jobs: readonly JobSummary[];
  readonly nowMs: number;
  /** Of the jobs that are shown; empty: any. */
  readonly state: string;
  readonly onState: (state: string) => void;
}

const STATES = [
  ["", "All"],
  ["queued", "Waiting"],
  ["in_progress", "Running"],
  ["failed", "Failed"],
  ["completed", "Completed"],
] as const;

/** The latest jobs, without what was asked. */
export function Jobs({ jobs, spending, nowMs, state, onState }: JobsProps) {
  const nameOf = (id: string) => spending.find(({ projectId }) => projectId === id)?.name ?? id;
  return (
    <Section title="Latest jobs">
      <fieldset class="segments">
        <legend class="hidden">State of the jobs</legend>
        {STATES.map(([value, label]) => (
          <label key={value}>
            <input
              type="radio"
              name="state"
              checked={value === state}
              onChange={() => onState(value)}
            />
            <span>{label}</span>
          </label>
        ))}
      </fieldset>
      <Table
        caption="Latest jobs"
        none="There are no such jobs."
        rows={jobs}
        keyOf={({ id }) => id}
        columns={[
          { name: "Job", cell: ({ id }) => <code title={id}>{shorten(id)}</code> },
          { name: "Project", cell: ({ projectId }) => nameOf(projectId) },
          { name: "Model", cell: ({ model }) => model },
          { name: "State", cell: (job) => <State job={job} /> },
          { name: "Created", isNumber: true, cell: ({ createdAt }) => formatAgo(createdAt, nowMs) },
          { name: "Took", isNumber: true, cell: (job) => formatSeconds(secondsOf(job)) },
          { name: "Attempts", isNumber: true, cell: ({ attempts }) => attempts },
          { name: "Charged", isNumber: true, cell: (job) => chargeOf(job) },
        ]}
      />
    </Section>
  );
}

function State({ job: { state, progress, failureCode } }: { readonly job: JobSummary }) {
  return (
    <span class="badge" data-state={state}>
      {state === "in_progress" ? `${progress} %` : (failureCode ?? state)}
    </span>
  );
}

function secondsOf({ startedAt, endedAt }: JobSummary): number | null {
  if (startedAt === null || endedAt === null) return null;
  return (Date.parse(endedAt) - Date.parse(startedAt)) / 1_000;
}

function chargeOf({ chargedMicroUsd }: JobSummary): string {
  return chargedMicroUsd === null ? "–" : formatUsd(chargedMicroUsd / 1_000_000);
}
