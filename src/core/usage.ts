/** Billable quantities. A modality fills only the units it sells. */
export interface Usage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly images?: number;
  readonly audioSeconds?: number;
  readonly videoSeconds?: number;
  /** Wall time the GPU slot was held, in milliseconds. Never billed, always recorded. */
  readonly gpuMs: number;
}

/** What a job will cost, fixed when it is accepted. Money is integer micro-dollars. */
export interface Quote {
  readonly unit: "second" | "image" | "token" | "character";
  readonly microUsdPerUnit: number;
  readonly units: number;
  readonly amountMicroUsd: number;
}

export function quote(unit: Quote["unit"], units: number, microUsdPerUnit: number): Quote {
  return { unit, units, microUsdPerUnit, amountMicroUsd: Math.round(units * microUsdPerUnit) };
}
