import { toJobError } from "../../../core/errors.js";
import { buildNetwork } from "./grammar-network.js";
import { grammarOfSchema, type Spent } from "./grammar-schema.js";
import type { JobFailure } from "../../../core/job.js";

/** A schema of a request, and the parameter that it came in. */
export interface CheckedSchema {
  readonly schema: unknown;
  readonly param: string;
}

/**
 * Why one of the schemas of a request could not be held to; null where all can. What takes longest is to
 * lay out the places of a text: `follow` leaves that out where false.
 */
export function findRefusal(
  schemas: readonly CheckedSchema[],
  { spent = { parts: 0 }, follow }: { readonly spent?: Spent; readonly follow: boolean },
): JobFailure | null {
  for (const { schema, param } of schemas) {
    try {
      const grammar = grammarOfSchema(schema, param, spent);
      if (follow) buildNetwork(grammar);
    } catch (thrown) {
      const { code, message } = toJobError(thrown);
      return code === "invalid_value"
        ? { code, message, param }
        : { code: "invalid_value", message: `${param}: ${message}`, param };
    }
  }
  return null;
}
