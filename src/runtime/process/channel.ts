import type { Duplex } from "node:stream";
import { deserialize, serialize } from "node:v8";
import type { InferenceReply, InferenceRequest } from "./protocol.js";

/** Messages over a byte stream between a worker and its inference process. */
export interface Channel<Sent> {
  readonly isOpen: boolean;
  /** Drops what is sent to an end that has gone; `onSent` is called once it was written. */
  send(message: Sent, onSent?: () => void): void;
  /** Sends what is on its way and closes. */
  end(): void;
}

interface ChannelEvents<Received> {
  readonly onMessage: (message: Received) => void;
  /** Called once, when nothing comes any more. */
  readonly onClose: () => void;
}

export type WorkerChannel = Channel<readonly InferenceReply[]>;
export type InferenceChannel = Channel<InferenceRequest>;

const LENGTH_BYTES = 4;

/** Each message is what `v8.serialize` makes of it, behind its length in four bytes. */
export function openChannel<Sent, Received>(
  stream: Duplex,
  { onMessage, onClose }: ChannelEvents<Received>,
): Channel<Sent> {
  let pieces: Buffer[] = [];
  let held = 0;
  let wanted = LENGTH_BYTES;
  let isLength = true;
  stream.on("data", (piece: Buffer) => {
    pieces.push(piece);
    held += piece.byteLength;
    if (held < wanted) return;
    let bytes = pieces.length === 1 ? piece : Buffer.concat(pieces);
    while (bytes.byteLength >= wanted) {
      const part = bytes.subarray(0, wanted);
      bytes = bytes.subarray(wanted);
      wanted = isLength ? part.readUInt32LE() : LENGTH_BYTES;
      // The other end is of this build, or sends nothing but its first message.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      if (!isLength) onMessage(deserialize(part) as Received);
      isLength = !isLength;
    }
    pieces = [bytes];
    held = bytes.byteLength;
  });
  // What breaks is closed, and that is said once.
  stream.on("error", () => {});
  stream.once("end", () => stream.end());
  stream.once("close", onClose);
  return {
    get isOpen() {
      return stream.writable;
    },
    send(message, onSent) {
      if (!stream.writable) return;
      const bytes = serialize(message);
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32LE(bytes.byteLength);
      stream.cork();
      stream.write(length);
      stream.write(bytes, () => onSent?.());
      stream.uncork();
    },
    end: () => void stream.end(),
  };
}
