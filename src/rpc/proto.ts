import { fileURLToPath } from "node:url";
import { loadPackageDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import type { ProtoGrpcType as ScalerProto } from "./gen/externalscaler.js";
import type { ProtoGrpcType as HealthProto } from "./gen/health.js";
import type { ProtoGrpcType as WorkerProto } from "./gen/worker.js";

/** The folder of .proto files, two levels above both src/rpc and dist/rpc. */
const PROTO_PATH = fileURLToPath(new URL("../../proto", import.meta.url));

/** The .proto files this folder speaks, relative to `PROTO_PATH`. */
const PROTO_FILES = [
  "framemill/v1/worker.proto",
  "grpc/health/v1/health.proto",
  "keda/externalscaler.proto",
] as const;

/** Longest message either side takes, in bytes. */
export const MAX_MESSAGE_BYTES = 1_048_576;

type Loaded = WorkerProto & HealthProto & ScalerProto;

/** The services and messages of the contract, as src/rpc/gen describes them. */
export const proto = load();

function load(): Loaded {
  const definition = loadSync([...PROTO_FILES], {
    includeDirs: [PROTO_PATH],
    // 64-bit integers as text: a number loses digits above 2^53, and messages.ts checks for it.
    longs: String,
    enums: String,
    defaults: true,
    arrays: true,
  });
  // Proof of the cast: scripts/rpc-types.mjs makes src/rpc/gen from the same files and options.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return loadPackageDefinition(definition) as unknown as Loaded;
}
