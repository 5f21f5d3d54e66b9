import { z } from "zod";
import { JobError } from "../../core/errors.js";
import {
  booleanWord,
  describe,
  invalidValue,
  NOT_BLANK,
  parseBody,
  wholeNumber,
} from "../shared/request-body.js";

const MAX_DOCUMENTS = 1_000;
/** Tokens that a document is cut to unless the caller says otherwise, as Cohere has it. */
const DEFAULT_TOKENS_PER_DOCUMENT = 4_096;

const documentObject = z.looseObject({ text: z.string() });
const query = z
  .string({ error: (issue) => `query must be a string, got ${describe(issue.input)}` })
  .regex(NOT_BLANK, "query must not be empty");

/** Body of `POST /v1/rerank` and `POST /v2/rerank`. */
export const rerankBody = z.strictObject({
  model: z.string().min(1),
  query,
  documents: z
    .array(z.union([z.string(), documentObject]))
    .min(1)
    .max(MAX_DOCUMENTS)
    .describe("strings or objects with a text; longer documents are cut to max_tokens_per_doc"),
  top_n: wholeNumber("top_n", 1, Number.MAX_SAFE_INTEGER).optional(),
  return_documents: booleanWord("return_documents")
    .optional()
    .describe("true on /v1 and false on /v2 unless given"),
  max_tokens_per_doc: wholeNumber("max_tokens_per_doc", 1, 1_048_576).optional(),
  priority: wholeNumber("priority", 0, 999)
    .optional()
    .describe("taken and not used: requests are served fairly"),
});

/** Checked by hand, for sentences that say which document and which limit. */
const looseBody = rerankBody.extend({
  documents: z.unknown(),
  rank_fields: z.unknown().optional(),
});

const rankedDocument = z.union([z.string(), z.looseObject({ text: z.string() }).readonly()]);
type Document = z.infer<typeof rankedDocument>;

/** An admitted request, as it is stored and travels on the queue. */
export const rerankRequest = z.object({
  model: z.string(),
  query: z.string(),
  /** 1 to 1000. */
  documents: z.array(rankedDocument).readonly(),
  topN: z.int().positive().nullable(),
  returnDocuments: z.boolean(),
  maxTokensPerDocument: z.int().positive(),
  /** Of the interface that was called. */
  apiVersion: z.enum(["1", "2"]),
});
export type RerankRequest = z.infer<typeof rerankRequest>;

/** What the pipeline found, as plain JSON. */
export const rerankOutput = z.object({
  /** Relevance of each document in the order of the request, 0 to 1. */
  scores: z.array(z.number()).readonly(),
  /** Tokens that the model read: for every document its own, the query's and the special ones. */
  totalTokens: z.int().nonnegative(),
  /** Documents as they are billed: one for each begun 500 tokens of query and document. */
  chunks: z.int().nonnegative(),
});
export type RerankOutput = z.infer<typeof rerankOutput>;

/** Throws `invalid_value` with the parameter at fault. */
export function parseRerankBody(body: unknown, path: string): RerankRequest {
  const parsed = parseBody(looseBody, body);
  if (parsed.rank_fields !== undefined)
    throw invalidValue(
      "rank_fields",
      "rank_fields is not supported: documents are ranked by their text",
    );
  const apiVersion = path.startsWith("/v2/") ? "2" : "1";
  return {
    model: parsed.model,
    query: parsed.query,
    documents: parseDocuments(parsed.documents),
    topN: parsed.top_n ?? null,
    returnDocuments: parsed.return_documents ?? apiVersion === "1",
    maxTokensPerDocument: parsed.max_tokens_per_doc ?? DEFAULT_TOKENS_PER_DOCUMENT,
    apiVersion,
  };
}

function parseDocuments(value: unknown): Document[] {
  if (value === undefined)
    throw new JobError("missing_required_parameter", "documents is required", {
      param: "documents",
    });
  if (!Array.isArray(value))
    throw invalidValue("documents", `documents must be an array, got ${describe(value)}`);
  if (value.length === 0 || value.length > MAX_DOCUMENTS)
    throw invalidValue(
      "documents",
      `documents must have 1 to ${MAX_DOCUMENTS} items, got ${value.length}`,
    );
  return value.map((document: unknown, index) => {
    if (typeof document === "string") return document;
    const parsed = documentObject.safeParse(document);
    if (parsed.success) return parsed.data;
    const param = `documents.${index}`;
    throw invalidValue(param, `${param} must be a string or {text}, got ${describe(document)}`);
  });
}

export function textOf(document: Document): string {
  return typeof document === "string" ? document : document.text;
}

/** Tokens of query and document that are billed as one document. */
const CHUNK_TOKENS = 500;
const DOCUMENTS_PER_UNIT = 100;

/** Documents that one document counts as: longer ones count once for each begun 500 tokens (Cohere's pricing). */
export function chunksOf(queryTokens: number, documentTokens: number): number {
  return Math.max(1, Math.ceil((queryTokens + documentTokens) / CHUNK_TOKENS));
}

/** One search is a query with up to 100 documents. */
export function searchUnits(chunks: number): number {
  return Math.ceil(chunks / DOCUMENTS_PER_UNIT);
}
