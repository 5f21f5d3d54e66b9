import { Server, type ServerWritableStream } from "@grpc/grpc-js";
import { JobError } from "../core/errors.js";
import type { ExternalScalerHandlers } from "./gen/externalscaler/ExternalScaler.js";
import type { IsActiveResponse } from "./gen/externalscaler/IsActiveResponse.js";
import type { ScaledObjectRef__Output } from "./gen/externalscaler/ScaledObjectRef.js";
import { MAX_MESSAGE_BYTES, proto } from "./proto.js";
import { type Address, bind, shutDown, unary } from "./server.js";

/** Work that has no end yet, queued and running. */
export interface Outstanding {
  readonly jobs: number;
  /** Seconds that a worker will need for it, as far as its kind was measured. */
  readonly seconds: number;
}

export interface ScalerServerOptions extends Address {
  /** Of these models; of all where the list is empty. */
  readonly readOutstanding: (models: readonly string[]) => Promise<Outstanding>;
}

export interface ScalerServer {
  readonly port: number;
  close(): Promise<void>;
}

const JOBS = "outstanding-jobs";
const SECONDS = "outstanding-seconds";
/** Between two looks for a streaming caller, in milliseconds. */
const LOOK_MS = 1_000;

type ActiveCall = ServerWritableStream<ScaledObjectRef__Output, IsActiveResponse>;

/** Tells KEDA how much work is outstanding (its external scaler). */
export async function startScalerServer(options: ScalerServerOptions): Promise<ScalerServer> {
  const limit = MAX_MESSAGE_BYTES;
  const server = new Server({ "grpc.max_receive_message_length": limit });
  const streams = new Map<ActiveCall, NodeJS.Timeout>();
  server.addService(proto.externalscaler.ExternalScaler.service, createService(options, streams));
  const port = await bind(server, options);
  return {
    port,
    async close() {
      for (const [stream, timer] of streams) {
        clearInterval(timer);
        stream.end();
      }
      await shutDown(server);
    },
  };
}

function createService(
  { readOutstanding }: ScalerServerOptions,
  streams: Map<ActiveCall, NodeJS.Timeout>,
): ExternalScalerHandlers {
  const isActive = async (ref: ScaledObjectRef__Output | null) =>
    (await readOutstanding(readTrigger(ref).models)).jobs > 0;
  return {
    IsActive: unary(async (ref) => ({ result: await isActive(ref) })),
    StreamIsActive(call) {
      let told: boolean | undefined;
      const look = async () => {
        const result = await isActive(call.request).catch(() => told);
        if (result !== told && streams.has(call)) call.write({ result: result ?? false });
        told = result;
      };
      streams.set(
        call,
        setInterval(() => void look(), LOOK_MS),
      );
      const end = () => {
        clearInterval(streams.get(call));
        streams.delete(call);
      };
      call.on("cancelled", end);
      call.on("close", end);
      void look();
    },
    GetMetricSpec: unary(async (ref) => {
      const { jobsPerWorker, secondsPerWorker } = readTrigger(ref);
      const targets = [
        { metricName: JOBS, target: jobsPerWorker },
        { metricName: SECONDS, target: secondsPerWorker },
      ];
      return {
        metricSpecs: targets.flatMap(({ metricName, target }) =>
          target === undefined
            ? []
            : [{ metricName, targetSize: Math.ceil(target), targetSizeFloat: target }],
        ),
      };
    }),
    GetMetrics: unary(async ({ metricName, scaledObjectRef }) => {
      const { jobs, seconds } = await readOutstanding(readTrigger(scaledObjectRef).models);
      const value = metricName === SECONDS ? seconds : jobs;
      const rounded = Math.ceil(value);
      return {
        metricValues: [{ metricName, metricValue: rounded, metricValueFloat: value }],
      };
    }),
  };
}

interface Trigger {
  readonly models: readonly string[];
  readonly jobsPerWorker: number | undefined;
  readonly secondsPerWorker: number | undefined;
}

/** Metadata of the trigger: `models`, `jobsPerWorker`, `secondsPerWorker`. */
function readTrigger(ref: ScaledObjectRef__Output | null): Trigger {
  const { models = "", jobsPerWorker, secondsPerWorker } = ref?.scalerMetadata ?? {};
  const seconds = readTarget("secondsPerWorker", secondsPerWorker);
  return {
    models: models
      .split(",")
      .map((id) => id.trim())
      .filter(Boolean),
    jobsPerWorker:
      readTarget("jobsPerWorker", jobsPerWorker) ?? (seconds === undefined ? 1 : undefined),
    secondsPerWorker: seconds,
  };
}

function readTarget(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new JobError("invalid_value", `${name} must be a number above 0, got ${text}`);
}
