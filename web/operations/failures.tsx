import type { Overview } from "../../src/front/operations/overview.js";
import { formatAgo, formatCount } from "../lib/format.js";
import { Section, Table } from "./section.js";

/** Why jobs failed in the last hour. */
export function Failures({
  failures,
  nowMs,
}: Pick<Overview, "failures"> & { readonly nowMs: number }) {
  return (
    <Section title="Failures" about="Of the last hour by reason, the latest first.">
      <Table
        caption="Failures of the last hour by reason"
        none="No job has failed in the last hour."
        rows={failures}
        keyOf={({ code, modality, model }) => `${code} ${modality} ${model}`}
        columns={[
          { name: "Reason", cell: ({ code }) => <code>{code}</code> },
          { name: "Model", cell: ({ model }) => model },
          { name: "Modality", cell: ({ modality }) => modality },
          { name: "Jobs", isNumber: true, cell: ({ jobs }) => formatCount(jobs) },
          { name: "Latest", isNumber: true, cell: ({ latestAt }) => formatAgo(latestAt, nowMs) },
        ]}
      />
    </Section>
  );
}
