import type { Margin } from "../../src/front/operations/margins.js";
import type { Overview } from "../../src/front/operations/overview.js";
import { formatUsd } from "../lib/format.js";
import { Section, Table } from "./section.js";

/** What models brought this month, and what the workers' time cost that they took. */
export function Margins({
  margins,
  gpuNanoUsdPerHour,
}: Pick<Overview, "margins" | "gpuNanoUsdPerHour">) {
  const now = `The workers cost ${money(gpuNanoUsdPerHour)} an hour now.`;
  return (
    <Section
      title="Margin"
      about={`This month (UTC), by model: what was charged, and what workers' time cost, with its share of starts and waiting. ${now}`}
    >
      <Table
        caption="Margin by model"
        none="Nothing was charged this month, and no worker's time was counted."
        rows={margins}
        keyOf={({ modality, model }) => `${modality} ${model}`}
        columns={[
          { name: "Model", cell: ({ model }) => <strong>{model ?? "(unused)"}</strong> },
          { name: "Charged", isNumber: true, cell: of("chargedNanoUsd") },
          { name: "Worked", isNumber: true, cell: of("workedNanoUsd") },
          { name: "Lost", isNumber: true, cell: of("lostNanoUsd") },
          { name: "Starting", isNumber: true, cell: of("startingNanoUsd") },
          { name: "Idle", isNumber: true, cell: of("idleNanoUsd") },
          { name: "Cost", isNumber: true, cell: of("gpuNanoUsd") },
          { name: "Margin", isNumber: true, cell: of("marginNanoUsd") },
        ]}
      />
    </Section>
  );
}

type Amount = {
  [Name in keyof Margin]-?: Margin[Name] extends number ? Name : never;
}[keyof Margin];

const of = (name: Amount) => (margin: Margin) => money(margin[name]);

function money(nanoUsd: number): string {
  return formatUsd(nanoUsd / 1e9);
}
