export type {
  Broker,
  BrokerEvent,
  ConsumeOptions,
  Delivery,
  Settlement,
  Subscription,
} from "./broker.js";
export type { DeadLetters } from "./dead-letters.js";
export { createMessageSigner } from "./message-signer.js";
export { openBroker } from "./open-broker.js";
export { traceBroker } from "./traced-broker.js";
