import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listenAt } from "#framemill/core/ports.js";

const host = "127.0.0.1";
const servers: Server[] = [];

async function listen(port: number): Promise<number> {
  const server = createServer().listen(port, host);
  servers.push(server);
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

describe("listening at a port that is taken", () => {
  let port = 0;
  beforeEach(async () => {
    port = await listen(0);
  });
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  it("names the setting, its value and what to do", async () => {
    await expect(listenAt({ host, port, setting: "GRPC_PORT" }, listen)).rejects.toThrow(
      `GRPC_PORT ${port}: another process listens on ${host}:${port} already. Stop it, or set GRPC_PORT to a free port, or to 0 for any`,
    );
  });

  it("takes a free one where nobody asked for that port", async () => {
    const taken = await listenAt({ host, port, setting: "PORT", orFree: true }, listen);
    expect(taken).toBeGreaterThan(0);
    expect(taken).not.toBe(port);
  });
});
