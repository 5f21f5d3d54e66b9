import { randomUUID } from "node:crypto";
import type { Modality, ModelInfo } from "../../core/modality.js";

export interface Admission {
  readonly body: Record<string, unknown>;
  readonly modality: Modality;
  readonly info: ModelInfo;
}

export interface Admitted {
  /** What a pipeline runs. */
  readonly request: unknown;
  /** Reads what was sent along with it. */
  readonly readInput: (artifact: { readonly id: string }) => Promise<Uint8Array>;
}

/** Admits a request body for `info`'s model without a front. */
export async function admitAlone({ body, modality, info }: Admission): Promise<Admitted> {
  const inputs = new Map<string, Uint8Array>();
  const whole = { model: info.id, ...body };
  const request = await modality.admit(whole, {
    model: info,
    path: modality.endpoint.path,
    async saveInput(bytes, mediaType) {
      const id = randomUUID();
      inputs.set(id, bytes);
      return { id, variant: "input", mediaType, byteLength: bytes.byteLength, sha256: "" };
    },
    findEarlier: () => Promise.resolve(undefined),
  });
  const readInput: Admitted["readInput"] = async ({ id }) => inputs.get(id) ?? new Uint8Array();
  return { request, readInput };
}
