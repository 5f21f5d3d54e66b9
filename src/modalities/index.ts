import type { Modality } from "../core/modality.js";
import { video } from "./video/index.js";

/** The registry. A new modality is a new folder and one line here. */
const MODALITIES = [video] as const;

const byName = new Map<string, Modality>(
  // A caller holds a request that the same modality admitted, so erasing the request type is sound.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  MODALITIES.map((modality) => [modality.name, modality as unknown as Modality]),
);

export function findModality(name: string): Modality | undefined {
  return byName.get(name);
}

export function listModalities(): Modality[] {
  return [...byName.values()];
}
