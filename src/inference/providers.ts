import { listSupportedBackends } from "onnxruntime-node";

/** Execution providers that this build of ONNX Runtime carries, e.g. `cpu`, `webgpu`. */
export function listExecutionProviders(): string[] {
  return listSupportedBackends().map(({ name, bundled }) =>
    bundled ? name : `${name} (needs libraries)`,
  );
}
