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
