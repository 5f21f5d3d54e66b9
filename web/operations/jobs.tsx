import type { JobSummary } from "../../src/front/operations/jobs.js";
import type { Overview } from "../../src/front/operations/overview.js";
import { formatAgo, formatSeconds, formatUsd } from "../lib/format.js";
import { Section, Table } from "./section.js";
import { shorten } from "./workers.js";

export interface JobsProps extends Pick<Overview, "spending"> {
  readonly jobs: readonly JobSummary[];
  readonly nowMs: number;
}

/** The latest jobs, without what was asked. */
export function Jobs({ jobs, spending, nowMs }: JobsProps) {
  const nameOf = (id: string) => spending.find(({ projectId }) => projectId === id)?.name ?? id;
  return (
    <Section title="Latest jobs">
      <Table
        caption="Latest jobs"
        none="There are no jobs yet."
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
