/** How a model writes its calls: by its template's own markers. */
export type ToolCallFormat = "hermes" | "mistral" | "mistral-args" | "llama" | "phi";

/** A function that may be called, with the JSON schema of its arguments. */
export interface CallableFunction {
  readonly name: string;
  readonly parameters: unknown;
}

/** An answer that must be calls and nothing else. Plain data: crosses to the engine's thread. */
export interface ToolCallSpec {
  readonly format: ToolCallFormat;
  readonly functions: readonly CallableFunction[];
  /** Whether more than one call may follow another. */
  readonly parallel: boolean;
}
