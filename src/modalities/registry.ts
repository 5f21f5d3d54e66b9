import type { Modality } from "../core/modality.js";
import * as modalities from "./index.js";

const byName = new Map<string, Modality>(
  // A caller holds a request that the same modality admitted, so erasing the request type is sound.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  Object.values(modalities).map((modality) => [modality.name, modality as unknown as Modality]),
);

export function findModality(name: string): Modality | undefined {
  return byName.get(name);
}

/** By the beginning of the job's id. */
export function findModalityOfJob(jobId: string): Modality | undefined {
  return listModalities().find(({ endpoint }) => jobId.startsWith(endpoint.idPrefix));
}

export function listModalities(): Modality[] {
  return [...byName.values()];
}
