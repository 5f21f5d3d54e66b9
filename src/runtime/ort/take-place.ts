import { type PipelineEvent, WAITING } from "../../core/events.js";
import type { PipelineContext } from "../../core/modality.js";
import type { DevicePlaces, PolledPlace } from "./device-places.js";

export interface Taking {
  readonly places: DevicePlaces;
  readonly isPolled: boolean;
  readonly context: Pick<PipelineContext, "signal" | "preempted">;
}

/**
 * A job's events while it holds its place of the device. A pipeline goes on when it is asked for its next
 * event, so a polled job rests after any report of progress: between two steps, or windows of frames.
 */
export async function* takePlace(
  events: AsyncIterable<PipelineEvent>,
  { places, isPolled, context }: Taking,
): AsyncGenerator<PipelineEvent> {
  if (!isPolled) {
    const leave = places.enterReplied();
    try {
      yield* events;
    } finally {
      leave();
    }
    return;
  }
  const { signal, preempted } = context;
  const either = preempted ? AbortSignal.any([signal, preempted]) : signal;
  const place = places.enterPolled();
  try {
    for await (const event of events) {
      yield event;
      yield* giveWay(place, event, either);
    }
  } finally {
    place.leave();
  }
}

async function* giveWay(
  place: PolledPlace,
  event: PipelineEvent,
  signal: AbortSignal,
): AsyncGenerator<PipelineEvent> {
  // A job that waits for another of its kind has no work to rest from.
  if (event.type !== "progress" || event.stage === WAITING) return;
  const waiting = place.giveWay(signal);
  let hasToldOfIt = false;
  let next = await waiting.next();
  for (; next.done !== true; next = await waiting.next()) {
    hasToldOfIt = true;
    yield { ...event, stage: WAITING };
  }
  if (next.value > 0) yield { type: "waited", ms: next.value };
  if (hasToldOfIt) yield event;
}
