import { randomUUID } from "node:crypto";
import type { Modality, ModelInfo } from "../core/modality.js";

export interface Admission {
  readonly body: Record<string, unknown>;
  readonly modality: Modality;
  readonly info: ModelInfo;
  /** Gets what the request sends along, by the artifact's id. */
  readonly inputs: Map<string, Uint8Array>;
}

/** Admits a request body without a front: the request that a pipeline runs. */
export async function admitAlone({ body, modality, info, inputs }: Admission): Promise<unknown> {
  return await modality.admit(body, {
    model: info,
    path: modality.endpoint.path,
    async saveInput(bytes, mediaType) {
      const id = randomUUID();
      inputs.set(id, bytes);
      return { id, variant: "input", mediaType, byteLength: bytes.byteLength, sha256: "" };
    },
    findEarlier: () => Promise.resolve(undefined),
  });
}
