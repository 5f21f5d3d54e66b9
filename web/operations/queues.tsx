import type { Overview, PaceSummary, OpenQueue } from "../../src/front/operations/overview.js";
import { formatCount, formatSeconds } from "../lib/format.js";
import { Section, Table } from "./section.js";

interface Row {
  readonly model: string;
  readonly modality: string;
  readonly queue: OpenQueue | undefined;
  readonly pace: PaceSummary | undefined;
}

/** What waits for each model, and how long jobs waited and ran in the last hour. */
export function Queues({ queues, paces }: Pick<Overview, "queues" | "paces">) {
  return (
    <Section
      title="Queues"
      about="By model. Waits and runs: of jobs that were completed in the last hour, the middle one / the slowest twentieth."
    >
      <Table
        caption="Queues by model"
        none="No jobs wait, and none has ended in the last hour."
        rows={join(queues, paces)}
        keyOf={({ modality, model }) => `${modality} ${model}`}
        columns={[
          { name: "Model", cell: ({ model }) => <strong>{model}</strong> },
          { name: "Modality", cell: ({ modality }) => modality },
          { name: "Waiting", isNumber: true, cell: ({ queue }) => formatCount(queue?.queued ?? 0) },
          {
            name: "Oldest",
            isNumber: true,
            cell: ({ queue }) => formatSeconds(queue?.oldestSeconds ?? null),
          },
          {
            name: "Running",
            isNumber: true,
            cell: ({ queue }) => formatCount(queue?.running ?? 0),
          },
          {
            name: "Work left",
            isNumber: true,
            cell: ({ queue }) => formatSeconds(queue?.outstandingSeconds ?? null),
          },
          { name: "Done", isNumber: true, cell: ({ pace }) => formatCount(pace?.completed ?? 0) },
          { name: "Failed", isNumber: true, cell: ({ pace }) => formatCount(pace?.failed ?? 0) },
          {
            name: "Wait",
            isNumber: true,
            cell: ({ pace }) => pair(pace?.waitMedian, pace?.wait95),
          },
          { name: "Run", isNumber: true, cell: ({ pace }) => pair(pace?.runMedian, pace?.run95) },
        ]}
      />
    </Section>
  );
}

function pair(median: number | null | undefined, slow: number | null | undefined): string {
  if (median === null || median === undefined) return "–";
  const [middle, slowest] = [formatSeconds(median), formatSeconds(slow ?? null)];
  return middle === slowest ? middle : `${middle} / ${slowest}`;
}

/** Models with open jobs first, then those that only have a past. */
function join(queues: readonly OpenQueue[], paces: readonly PaceSummary[]): Row[] {
  const isSame = (a: OpenQueue | PaceSummary) => (b: OpenQueue | PaceSummary) =>
    a.model === b.model && a.modality === b.modality;
  const open = queues.map((queue) => toRow(queue, paces.find(isSame(queue))));
  const past = paces.filter((pace) => !queues.some(isSame(pace)));
  return [...open, ...past.map((pace) => toRow(undefined, pace))];
}

function toRow(queue: OpenQueue | undefined, pace: PaceSummary | undefined): Row {
  const { model = "", modality = "" } = queue ?? pace ?? {};
  return { model, modality, queue, pace };
}
