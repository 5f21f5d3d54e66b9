import type { Tensor as OrtTensor } from "onnxruntime-node";
import { freeMemory } from "./free-memory.js";

/** Tensors by the names under which runs find them. */
export interface KeptTensors {
  /** Throws where none is kept under the name. */
  take(name: string): OrtTensor;
  /** Keeps a tensor in place of what was there. */
  put(name: string, tensor: OrtTensor): void;
  readonly drop: (names: Iterable<string>) => void;
  /** Drops tensors that nobody else holds, and frees their memory on the host at once. */
  readonly free: (names: Iterable<string>) => void;
  dropAll(): void;
}

export function createKeptTensors(): KeptTensors {
  const kept = new Map<string, OrtTensor>();
  const drop = (names: Iterable<string>) => {
    for (const name of names) {
      kept.get(name)?.dispose();
      kept.delete(name);
    }
  };
  return {
    take(name) {
      const tensor = kept.get(name);
      if (tensor === undefined) throw new Error(`no tensor is kept as ${name}`);
      return tensor;
    },
    put(name, tensor) {
      kept.get(name)?.dispose();
      kept.set(name, tensor);
    },
    drop,
    free(names) {
      for (const name of names) {
        const tensor = kept.get(name);
        const data = tensor?.location === "cpu" ? tensor.data : undefined;
        drop([name]);
        if (ArrayBuffer.isView(data)) freeMemory(data);
      }
    },
    dropAll() {
      drop([...kept.keys()]);
    },
  };
}
