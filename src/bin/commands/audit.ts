import type { Config } from "../../config.js";
import type { ActionsQuery, RecordedAction } from "../../front/ledger/index.js";
import { withOperations } from "./operations.js";
import { printJson, printTable } from "./table.js";

export async function listAudit(
  { json = false, ...query }: ActionsQuery & { readonly json?: boolean },
  config: Config,
): Promise<void> {
  const actions = await withOperations(config, (operations) => operations.listActions(query));
  if (json) printJson(actions);
  else printTable(actions.map(toRow), "nothing was changed");
}

function toRow({ at, actor, address, action, target, detail, outcome }: RecordedAction) {
  const more = Object.entries(detail).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return {
    at,
    actor,
    from: address ?? "",
    action,
    target: target ?? "",
    detail: more.join(" "),
    outcome,
  };
}
