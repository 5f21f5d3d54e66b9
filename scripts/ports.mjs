// Ports for servers that take a while to open them, and the wait until they answer.
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Below what Linux and macOS give to outgoing connections, which could take a port before its server does. */
const LOWEST = 15_000;
const HIGHEST = 32_000;

/** A TCP port of 127.0.0.1 that nobody listens on. */
export async function freePort() {
  const port = randomInt(LOWEST, HIGHEST);
  const server = createServer();
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return port;
  } catch {
    return freePort();
  } finally {
    server.close();
  }
}

/**
 * Asks again and again until the answer is true; false when the server ended or the time is over.
 * @param {import("node:child_process").ChildProcess} server
 * @param {() => Promise<boolean>} isReady @param {number} timeoutMs
 */
export async function waitUntilReady(server, isReady, timeoutMs) {
  const deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline && server.exitCode === null && server.pid !== undefined) {
    if (await isReady()) return true;
    await sleep(100);
  }
  return false;
}

/**
 * Sends bytes and gives the first byte that comes back; undefined when nobody answers.
 * @param {{ host: string, port: number }} address @param {Buffer} greeting
 * @returns {Promise<number | undefined>}
 */
export function firstByte(address, greeting) {
  return new Promise((resolve) => {
    const socket = connect(address, () => socket.write(greeting));
    socket.setTimeout(2_000, () => socket.destroy());
    socket.once("data", (data) => (resolve(data[0]), socket.destroy()));
    socket.once("error", () => resolve(undefined));
    socket.once("close", () => resolve(undefined));
  });
}
