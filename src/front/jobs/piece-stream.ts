import { Readable } from "node:stream";

/**
 * A body whose next piece is asked for when the one before has gone out to the connection: whoever makes
 * the pieces knows by it what was delivered. Nothing is read ahead.
 */
export class PieceStream extends Readable {
  readonly #pieces: AsyncGenerator<Uint8Array>;

  constructor(pieces: AsyncGenerator<Uint8Array>) {
    super({ read: () => {} });
    this.#pieces = pieces;
    // Whoever makes them cleans up; the connection does not wait for it.
    this.once("close", () => void pieces.return(undefined).catch(() => {}));
  }

  override pipe<Target extends NodeJS.WritableStream>(target: Target): Target {
    void this.#writeTo(target); // its failures end the stream
    return target;
  }

  async #writeTo(target: NodeJS.WritableStream): Promise<void> {
    try {
      for await (const piece of this.#pieces) if (!(await isWritten(target, piece))) return;
      if (this.destroyed) return;
      target.end();
      this.push(null);
      this.resume();
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }
}

/** Waits until the bytes have left this process; false where the connection closed before. */
function isWritten(target: NodeJS.WritableStream, piece: Uint8Array): Promise<boolean> {
  return new Promise((resolve) => {
    const onClose = () => resolve(false);
    target.once("close", onClose);
    target.write(piece, (error) => {
      target.off("close", onClose);
      resolve(error === undefined || error === null);
    });
  });
}
