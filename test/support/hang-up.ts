import { connect } from "node:net";

export interface HangUpOptions {
  readonly key: string;
  readonly body: object;
  /** Asked with all that was received so far of the answer's body: hangs up at the first true. */
  readonly isEnough: (text: string) => boolean;
  /**
   * `reset` drops the connection. `half-close` says that nothing more will be sent and reads on to the
   * server's end: what it returns then is all that the server has written, to the byte.
   */
  readonly how: "half-close" | "reset";
}

/** Asks, hangs up before the answer's end, and returns the part of the body that came, unchunked. */
export function hangUp(url: string, options: HangUpOptions): Promise<string> {
  const { key, body, isEnough, how } = options;
  const { hostname, port, pathname } = new URL(url);
  const json = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    const received: Buffer[] = [];
    let hasHungUp = false;
    const textOf = () => unchunk(Buffer.concat(received));
    socket.write(
      `POST ${pathname} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${key}\r\n` +
        `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(json)}\r\n\r\n${json}`,
    );
    socket.on("data", (bytes: Buffer) => {
      received.push(bytes);
      if (hasHungUp || !isEnough(textOf().toString())) return;
      hasHungUp = true;
      if (how === "half-close") socket.end();
      else socket.resetAndDestroy();
    });
    socket.on("error", (error) => (hasHungUp ? undefined : reject(error)));
    socket.on("close", () => resolve(textOf().toString()));
    socket.on("end", () => socket.destroy());
  });
}

/** The body of an answer in chunked transfer coding, as far as it came. */
function unchunk(answer: Buffer): Buffer {
  const headEnd = answer.indexOf("\r\n\r\n");
  const pieces: Buffer[] = [];
  let at = headEnd < 0 ? answer.length : headEnd + 4;
  for (;;) {
    const lineEnd = answer.indexOf("\r\n", at);
    if (lineEnd < 0) return Buffer.concat(pieces);
    const length = Number.parseInt(answer.toString("latin1", at, lineEnd), 16);
    pieces.push(answer.subarray(lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
}
