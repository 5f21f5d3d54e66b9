import { z } from "zod";
import type { WorkerOrders, WorkerStatus } from "../core/reports.js";
import type { AnnounceRequest } from "./gen/framemill/v1/AnnounceRequest.js";
import type { AnnounceResponse } from "./gen/framemill/v1/AnnounceResponse.js";
import { decode, decodeAnswer, integer, name, outcome } from "./wire.js";

const STATES = {
  starting: "WORKER_STATE_STARTING",
  ready: "WORKER_STATE_READY",
  busy: "WORKER_STATE_BUSY",
  unready: "WORKER_STATE_UNREADY",
  draining: "WORKER_STATE_DRAINING",
  stopped: "WORKER_STATE_STOPPED",
} as const satisfies Readonly<Record<WorkerStatus["state"], string>>;

const MOST_MODELS = 1_000;

const announceRequest = z.object({
  workerId: name,
  state: outcome(STATES),
  models: z.array(name).max(MOST_MODELS),
  slots: z.number().int().nonnegative(),
  running: z.number().int().nonnegative(),
  device: z.string().max(256),
  memoryBytes: integer,
});
const announceResponse = z.object({ drain: z.boolean() });

export function encodeAnnounceRequest({ state, models, ...status }: WorkerStatus): AnnounceRequest {
  return { ...status, models: [...models], state: STATES[state] };
}

export function decodeAnnounceRequest(wire: unknown): WorkerStatus {
  return decode(announceRequest, wire);
}

export function encodeAnnounceResponse({ drain }: WorkerOrders): AnnounceResponse {
  return { drain };
}

export function decodeAnnounceResponse(wire: unknown): WorkerOrders {
  return decodeAnswer(announceResponse, wire);
}
