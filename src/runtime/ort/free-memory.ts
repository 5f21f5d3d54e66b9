import { MessageChannel } from "node:worker_threads";

// What is transferred to a port without another end is freed.
const { port1: nowhere, port2: otherEnd } = new MessageChannel();
otherEnd.close();

/**
 * Frees the memory under an array at once, and empties all arrays over it. The garbage collector would come
 * when its thread next works enough for it, and until then hold what the next array needs.
 */
export function freeMemory({ buffer }: ArrayBufferView): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength > 0) nowhere.postMessage(null, [buffer]);
}
