import type { Overview } from "../../src/front/operations/overview.js";
import { formatCount, formatUsd } from "../lib/format.js";
import { Section, Table } from "./section.js";

/** What projects spend; months and days are UTC. */
export function Projects({ spending }: Pick<Overview, "spending">) {
  return (
    <Section
      title="Money"
      about="By project. Days and months are UTC; reserved is what open jobs may cost at most."
    >
      <Table
        caption="Money by project"
        none="There is no project yet."
        rows={spending}
        keyOf={({ projectId }) => projectId}
        columns={[
          { name: "Project", cell: ({ name }) => <strong>{name}</strong> },
          {
            name: "Jobs this month",
            isNumber: true,
            cell: ({ jobsThisMonth }) => formatCount(jobsThisMonth),
          },
          { name: "Today", isNumber: true, cell: ({ todayMicroUsd }) => money(todayMicroUsd) },
          { name: "This month", isNumber: true, cell: ({ monthMicroUsd }) => money(monthMicroUsd) },
          {
            name: "Reserved",
            isNumber: true,
            cell: ({ reservedMicroUsd }) => money(reservedMicroUsd),
          },
          {
            name: "Limit",
            isNumber: true,
            cell: ({ monthlyLimitMicroUsd: limit }) => (limit === null ? "none" : money(limit)),
          },
        ]}
      />
    </Section>
  );
}

function money(microUsd: number): string {
  return formatUsd(microUsd / 1_000_000);
}
