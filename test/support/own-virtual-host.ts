import { randomUUID } from "node:crypto";
import { afterAll } from "vitest";

/**
 * Setup of every file that runs beside others: AMQP_URL names a virtual host of its own, so that queues of
 * the same names do not meet. A broker without management API (RABBITMQ_API_URL) has one for all.
 */
const { AMQP_URL, RABBITMQ_API_URL } = process.env;
if (AMQP_URL !== undefined && RABBITMQ_API_URL !== undefined) {
  const name = `test-${randomUUID()}`;
  const call = virtualHosts(RABBITMQ_API_URL);
  await call("PUT", name);
  process.env["AMQP_URL"] = new URL(name, AMQP_URL).href;
  afterAll(() => call("DELETE", name));
}

function virtualHosts(apiUrl: string) {
  const { username, password, origin, pathname } = new URL(apiUrl);
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  return async (method: "PUT" | "DELETE", name: string) => {
    const url = `${origin}${pathname}/vhosts/${name}`;
    // A connection kept for minutes is closed by the broker at any moment, a request on it lost.
    const headers = { authorization, connection: "close" };
    const response = await fetch(url, { method, headers });
    if (!response.ok) throw new Error(`${method} ${name}: RabbitMQ answered ${response.status}`);
  };
}
