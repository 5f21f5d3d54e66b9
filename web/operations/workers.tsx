import { useState } from "preact/hooks";
import type { WorkerJob, WorkerSummary } from "../../src/front/ledger/workers.js";
import { call, messageOf } from "../lib/api.js";
import { formatBytes } from "../lib/format.js";
import { Section, Table } from "./section.js";

export interface WorkersProps {
  readonly workers: readonly WorkerSummary[];
  readonly adminKey: string;
  readonly onChange: () => void;
}

/** What each worker computes on, what it does, and the way to empty it. */
export function Workers({ workers, adminKey, onChange }: WorkersProps) {
  const [problem, setProblem] = useState<string>();
  const drain = async ({ workerId, drain: isDraining }: WorkerSummary) => {
    const path = `/admin/workers/${encodeURIComponent(workerId)}/drain`;
    try {
      await call(path, { key: adminKey, body: { drain: !isDraining } });
      setProblem(undefined);
      onChange();
    } catch (thrown) {
      setProblem(messageOf(thrown));
    }
  };
  return (
    <Section title="Workers">
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <Table
        caption="Workers and what they do"
        none="No worker has been heard of in the last 15 seconds."
        rows={workers}
        keyOf={({ workerId }) => workerId}
        columns={[
          { name: "Worker", cell: ({ workerId }) => <strong>{workerId}</strong> },
          { name: "State", cell: (worker) => <State worker={worker} /> },
          { name: "Device", cell: ({ device }) => device },
          { name: "Memory", isNumber: true, cell: ({ memoryBytes }) => formatBytes(memoryBytes) },
          { name: "Jobs", cell: ({ jobs, slots }) => <Held jobs={jobs} slots={slots} /> },
          { name: "Models", cell: ({ models }) => <Models models={models} /> },
          {
            name: "Drain",
            cell: (worker) => (
              <button
                type="button"
                class="quiet"
                aria-label={`${worker.drain ? "Let take jobs" : "Drain"}: ${worker.workerId}`}
                onClick={() => void drain(worker)}
              >
                {worker.drain ? "Let take jobs" : "Drain"}
              </button>
            ),
          },
        ]}
      />
    </Section>
  );
}

function State({ worker: { state, drain } }: { readonly worker: WorkerSummary }) {
  const shown = drain && state !== "stopped" ? "draining" : state;
  return (
    <span class="badge" data-state={shown}>
      {shown}
    </span>
  );
}

function Held({ jobs, slots }: { readonly jobs: readonly WorkerJob[]; readonly slots: number }) {
  if (jobs.length === 0) return <span class="muted">none of {slots}</span>;
  return (
    <ul class="held">
      {jobs.map(({ id, model, stage, progress }) => (
        <li key={id}>
          <code title={id}>{shorten(id)}</code> {model}
          <span class="muted"> {stage ?? "starting"}</span>
          <progress max={100} value={progress} aria-label={`Progress of ${id}`} />
        </li>
      ))}
    </ul>
  );
}

function Models({ models }: { readonly models: readonly string[] }) {
  if (models.length <= 1) return <>{models.join("")}</>;
  return (
    <details>
      <summary>{models.length} models</summary>
      {models.join(", ")}
    </details>
  );
}

/** Enough of an id to find it again. */
export function shorten(id: string): string {
  return id.replace(/(?<=[0-9a-f]{8})[0-9a-f]{24}$/, "…");
}
