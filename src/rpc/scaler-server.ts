import { Server, type ServerWritableStream } from "@grpc/grpc-js";
import {
  isActive,
  metricsOf,
  metricValue,
  type Outstanding,
  parseTrigger,
  type ScalerTrigger,
  type WantedWorkers,
} from "../core/scaling.js";
import type { ExternalScalerHandlers } from "./gen/externalscaler/ExternalScaler.js";
import type { IsActiveResponse } from "./gen/externalscaler/IsActiveResponse.js";
import type { ScaledObjectRef__Output } from "./gen/externalscaler/ScaledObjectRef.js";
import { MAX_MESSAGE_BYTES, proto } from "./proto.js";
import { type Address, bind, shutDown, unary } from "./server.js";

export interface ScalerServerOptions extends Address {
  /** Of these models; of all where the list is empty. */
  readonly readOutstanding: (models: readonly string[]) => Promise<Outstanding>;
  /** Workers of a trigger that may be paid for, of those that one of its metrics asks for. */
  readonly allowWorkers: (trigger: ScalerTrigger, wanted: WantedWorkers) => Promise<number>;
}

export interface ScalerServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Between two looks for a streaming caller, in milliseconds. */
const LOOK_MS = 1_000;

type ActiveCall = ServerWritableStream<ScaledObjectRef__Output, IsActiveResponse>;

/** Tells KEDA how much work is outstanding (its external scaler). */
export async function startScalerServer(options: ScalerServerOptions): Promise<ScalerServer> {
  const limit = MAX_MESSAGE_BYTES;
  const server = new Server({ "grpc.max_receive_message_length": limit });
  const streams = new Map<ActiveCall, NodeJS.Timeout>();
  server.addService(proto.externalscaler.ExternalScaler.service, createService(options, streams));
  const port = await bind(server, options, "SCALER_PORT");
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
  { readOutstanding, allowWorkers }: ScalerServerOptions,
  streams: Map<ActiveCall, NodeJS.Timeout>,
): ExternalScalerHandlers {
  const look = async (ref: ScaledObjectRef__Output | null) => {
    const trigger = readTrigger(ref);
    const workers = isActive(await readOutstanding(trigger.models)) ? 1 : 0;
    return (await allowWorkers(trigger, { metric: "active", workers })) > 0;
  };
  return {
    IsActive: unary(async (ref) => ({ result: await look(ref) })),
    StreamIsActive(call) {
      let lastSent: boolean | undefined;
      const tell = async () => {
        const result = await look(call.request).catch(() => lastSent);
        if (result !== lastSent && streams.has(call)) call.write({ result: result ?? false });
        lastSent = result;
      };
      streams.set(
        call,
        setInterval(() => void tell(), LOOK_MS),
      );
      const end = () => {
        clearInterval(streams.get(call));
        streams.delete(call);
      };
      call.on("cancelled", end);
      call.on("close", end);
      void tell();
    },
    GetMetricSpec: unary(async (ref) => ({
      metricSpecs: metricsOf(readTrigger(ref)).map(({ metricName, target }) => ({
        metricName,
        targetSize: Math.ceil(target),
        targetSizeFloat: target,
      })),
    })),
    GetMetrics: unary(async ({ metricName, scaledObjectRef }) => {
      const trigger = readTrigger(scaledObjectRef);
      const needed = metricValue(metricName, await readOutstanding(trigger.models));
      const target = metricsOf(trigger).find((one) => one.metricName === metricName)?.target ?? 1;
      const wanted = { metric: metricName, workers: Math.ceil(needed / target) };
      const value = Math.min(needed, (await allowWorkers(trigger, wanted)) * target);
      const rounded = Math.ceil(value);
      return {
        metricValues: [{ metricName, metricValue: rounded, metricValueFloat: value }],
      };
    }),
  };
}

function readTrigger(ref: ScaledObjectRef__Output | null): ScalerTrigger {
  return parseTrigger(ref?.scalerMetadata ?? {});
}
