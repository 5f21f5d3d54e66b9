import { z } from "zod";
import { SERVICE_TIERS } from "../../core/service-tier.js";
import { UNIT_NAMES } from "../../core/usage.js";

/** Objects of the API that belong to no modality; what answers with one has its type from here. */

const unixSeconds = z.int().describe("Unix time in seconds");

/** The one body of every failure. */
export const errorBody = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable().describe("the field at fault"),
      code: z.string().nullable(),
    }),
  })
  .meta({ id: "ErrorBody" });

export const modelObject = z
  .object({
    id: z.string(),
    object: z.literal("model"),
    created: unixSeconds,
    owned_by: z.string(),
    endpoints: z.array(z.string()).describe("paths that it serves"),
    context_length: z.int().optional().describe("tokens of prompt and answer together"),
    dimensions: z.int().optional().describe("numbers of its vectors"),
    tiers: z.array(z.string()).optional().describe("those it makes, where not all"),
    voices: z.array(z.string()).optional(),
  })
  .meta({ id: "Model" });

export const modelList = z
  .object({ object: z.literal("list"), data: z.array(modelObject) })
  .meta({ id: "ModelList" });

export const chargeObject = z
  .object({
    id: z.string().describe("of the job"),
    object: z.literal("charge"),
    currency: z.literal("usd"),
    amount: z.number(),
    service_tier: z.enum(SERVICE_TIERS),
    units: z.partialRecord(z.enum(UNIT_NAMES), z.number()),
    created_at: unixSeconds,
  })
  .meta({ id: "Charge" });

export const linkObject = z
  .object({
    object: z.literal("link"),
    url: z.url().describe("downloads the file without a key"),
    media_type: z.string(),
    expires_in: z.int().describe("seconds"),
  })
  .meta({ id: "Link" });

export type ErrorBody = z.infer<typeof errorBody>;
export type ModelObject = z.infer<typeof modelObject>;
export type ModelList = z.infer<typeof modelList>;
export type ChargeObject = z.infer<typeof chargeObject>;
export type LinkObject = z.infer<typeof linkObject>;

/** A page of a list; newest first unless `order` says otherwise. */
export function listObject<Item extends z.ZodType>(item: Item) {
  return z.object({
    object: z.literal("list"),
    data: z.array(item),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  });
}

/** What is left to say of an object that was deleted. */
export function deletedObject(object: string) {
  return z.object({
    id: z.string(),
    object: z.literal(`${object}.deleted`),
    deleted: z.literal(true),
  });
}

export type ObjectList = z.infer<ReturnType<typeof listObject>>;
export type DeletedObject = z.infer<ReturnType<typeof deletedObject>>;
