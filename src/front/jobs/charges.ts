import type { FastifyInstance } from "fastify";
import type { Kysely } from "kysely";
import { JobError } from "../../core/errors.js";
import type { Database, Tables } from "../ledger/index.js";
import { callerOf } from "../http/index.js";

interface ChargeRequest {
  Params: { readonly id: string };
}

/** `GET /v1/charges/{id}`: what a job has cost, once it has ended and cost anything. */
export function addChargeRoute(app: FastifyInstance, { kysely }: Database): void {
  app.get<ChargeRequest>("/v1/charges/:id", (request) =>
    readCharge(kysely, callerOf(request).project.id, request.params.id),
  );
}

async function readCharge(kysely: Kysely<Tables>, projectId: string, id: string) {
  const charge = await kysely
    .selectFrom("charges")
    .selectAll()
    .where("job_id", "=", id)
    .where("project_id", "=", projectId)
    .executeTakeFirst();
  if (charge === undefined)
    throw new JobError("not_found", `no charge for the id ${JSON.stringify(id)}`, {
      param: "id",
    });
  return {
    id: charge.job_id,
    object: "charge",
    currency: "usd",
    amount: (charge.amount_nano_usd ?? charge.amount_micro_usd * 1_000) / 1_000_000_000,
    units: charge.counted_units,
    created_at: Math.floor(charge.created_at.getTime() / 1_000),
  };
}
