import type { Values } from "../../runtime/ort/session.js";
import type { ComputedStep } from "../video/checkpoint.js";

interface Kept {
  /** `residual` of the first block and `remaining_residual` of the others, where the graphs run. */
  readonly values: Values;
  readonly at: ComputedStep;
}

/**
 * What a clip's steps leave for later ones: of each prompt, what the blocks added to its tokens at the last
 * step at which all of them ran. First Block Cache of ParaAttention (chengzeyi/ParaAttention) and diffusers
 * (FirstBlockCacheConfig). A prompt is known by its object, as the denoiser is asked for it.
 */
export class FirstBlockCache {
  readonly #threshold: number;
  readonly #kept = new Map<object, Kept>();
  #at: ComputedStep = { step: 0, sample: new Float32Array() };
  #denoiser = 0;

  /** The relative change of the first block's residual up to which the others' is reused; 0: nothing is. */
  constructor(threshold: number) {
    this.#threshold = threshold;
  }

  /** Where the clip stands now. Of another denoiser nothing is left. */
  enter(denoiser: number, at: ComputedStep): void {
    if (denoiser !== this.#denoiser) this.close();
    this.#denoiser = denoiser;
    this.#at = at;
  }

  find(prompt: object): Values | undefined {
    return this.#kept.get(prompt)?.values;
  }

  reuses(change: number): boolean {
    return change <= this.#threshold;
  }

  /** Takes over, and closes in its time, what was computed for the prompt where the clip stands. */
  put(prompt: object, values: Values): void {
    this.#drop(prompt);
    if (this.#threshold > 0) this.#kept.set(prompt, { values, at: this.#at });
    else closeAll(values);
  }

  /** Where all blocks ran last, prompt by prompt, until the first for which they have not. */
  computed(prompts: readonly object[]): ComputedStep[] {
    return prompts.flatMap((prompt) => this.#kept.get(prompt)?.at ?? []);
  }

  close(): void {
    for (const prompt of this.#kept.keys()) this.#drop(prompt);
  }

  #drop(prompt: object): void {
    closeAll(this.#kept.get(prompt)?.values ?? {});
    this.#kept.delete(prompt);
  }
}

export function closeAll(values: Values): void {
  for (const value of Object.values(values)) value.close();
}
