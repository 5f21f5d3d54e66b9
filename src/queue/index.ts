import type { Broker, BrokerEvent } from "./broker.js";
import { createEmbeddedBroker } from "./embedded.js";
import type { MessageSigner } from "./message.js";
import { createRabbitmqBroker } from "./rabbitmq.js";
import type { TopologyOptions } from "./topology.js";

export type {
  Broker,
  BrokerEvent,
  ConsumeOptions,
  DeadLetters,
  Delivery,
  Settlement,
  Subscription,
} from "./broker.js";
export { createMessageSigner } from "./message.js";
export { traceBroker } from "./traced-broker.js";

export interface OpenBrokerOptions extends TopologyOptions {
  /** `amqp(s)://…`; without it the broker is in-process. */
  readonly amqpUrl?: string | undefined;
  /** Signs messages and checks signatures; the in-process broker needs none. */
  readonly signer: MessageSigner;
  /** Name of this process in the broker's list of connections. */
  readonly name?: string;
  /** Longest wait for a publish's confirm, in milliseconds; default 2 000. */
  readonly publishTimeoutMs?: number;
  /** Longest wait for the first connection, in milliseconds; default 5 000. */
  readonly connectTimeoutMs?: number;
  /** For logs and counters. */
  readonly onEvent?: (event: BrokerEvent) => void;
}

/**
 * Opens the queue. When RabbitMQ cannot be reached at first it resolves all the same, with
 * `connected` false, and goes on trying: a front that starts before its broker answers 503.
 */
export async function openBroker(options: OpenBrokerOptions): Promise<Broker> {
  const { amqpUrl: url, onEvent = () => undefined } = options;
  if (url === undefined) return createEmbeddedBroker({ ...options, onEvent });
  return await new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      resolve(broker);
    };
    const timer = setTimeout(finish, options.connectTimeoutMs ?? 5_000);
    const broker = createRabbitmqBroker({
      name: "framemill",
      publishTimeoutMs: 2_000,
      ...options,
      url,
      onEvent(event) {
        onEvent(event);
        if (event.type === "channel-open") finish();
      },
    });
  });
}
