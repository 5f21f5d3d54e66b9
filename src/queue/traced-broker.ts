import { unixMs } from "../core/time.js";
import { type SpanAttributes, traced, type Tracer, UNTRACED } from "../core/tracing.js";
import type { Broker, Delivery, DeliveryHandler } from "./broker.js";
import { createTopology } from "./topology.js";

const topology = createTopology();
const { jobsExchange } = topology;

/**
 * The same broker, with a span for each message published and each delivery worked on. The span travels
 * as the job's own trace context, so whatever is done for the job hangs below it.
 */
export function traceBroker(broker: Broker, tracer: Tracer): Broker {
  if (tracer === UNTRACED) return broker;
  const { system } = broker;
  return {
    system,
    get connected() {
      return broker.connected;
    },
    get deadLetters() {
      return broker.deadLetters;
    },
    async publish(routingKey, job, options) {
      const span = tracer.start(`publish ${jobsExchange}`, {
        parent: job.traceparent,
        kind: "producer",
        attributes: {
          ...attributesOf(system, routingKey),
          "messaging.destination.name": `${jobsExchange}:${routingKey}`,
          "messaging.operation.name": "publish",
          "messaging.operation.type": "send",
          "framemill.job.id": job.id,
        },
      });
      const { traceparent } = span;
      const traceable = traceparent === undefined ? job : { ...job, traceparent };
      await traced(span, async () => await broker.publish(routingKey, traceable, options));
    },
    consume: async (options, handler) =>
      await broker.consume(options, async (delivery) => await process(delivery, handler)),
    depth: async (...queue) => await broker.depth(...queue),
    close: async () => await broker.close(),
  };

  async function process(delivery: Delivery, handler: DeliveryHandler) {
    const { job } = delivery;
    noteWait(tracer, delivery);
    const routingKey = `${job.modality}.${job.model}`;
    const queue = topology.jobQueue(routingKey);
    const span = tracer.start(`process ${queue}`, {
      parent: job.traceparent,
      kind: "consumer",
      attributes: {
        ...attributesOf(system, routingKey),
        "messaging.destination.name": `${jobsExchange}:${routingKey}:${queue}`,
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "framemill.job.id": job.id,
        "framemill.redelivered": delivery.redelivered,
      },
    });
    const { traceparent } = span;
    const own =
      traceparent === undefined ? delivery : { ...delivery, job: { ...job, traceparent } };
    return await traced(span, async () => {
      const settlement = await handler(own);
      span.set({ "framemill.settlement": settlement.type });
      return settlement;
    });
  }
}

function attributesOf(system: string, routingKey: string): SpanAttributes {
  return {
    "messaging.system": system,
    "messaging.rabbitmq.destination.routing_key": routingKey,
  };
}

/** From the message's sending to now; how long one that came back has waited is not known. */
function noteWait(tracer: Tracer, { job, redelivered, publishedAtMs }: Delivery): void {
  if (redelivered || publishedAtMs === undefined) return;
  const startedAtMs = Math.min(publishedAtMs, unixMs());
  tracer.start("queue wait", { parent: job.traceparent, startedAtMs }).end();
}
