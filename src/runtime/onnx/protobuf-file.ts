import { closeSync, fstatSync, openSync, readSync } from "node:fs";

/**
 * Opens a protobuf file for `read` and closes it. What `read` does not want is sought past, so that a
 * file of gigabytes costs as much as its outline. Synchronous: for the command line.
 */
export function withProtobufFile<T>(path: string, read: (cursor: Cursor) => T): T {
  const descriptor = openSync(path, "r");
  try {
    return read(createCursor(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

/** By field number: told a number's value, or the offset at which text or a message ends. */
type Handlers = Readonly<Record<number, (valueOrEnd: number, isBytes: boolean) => unknown>>;

/** Walks one message up to `end`; what has no handler is sought past. */
export function readMessage(cursor: Cursor, end: number, handlers: Handlers): void {
  while (cursor.position < end) {
    const tag = cursor.varint();
    const handler = handlers[Math.floor(tag / 8)];
    const wireType = tag % 8;
    if (wireType === 0) {
      const value = cursor.varint();
      handler?.(value, false);
    } else if (wireType === 2) {
      const length = cursor.varint();
      const fieldEnd = cursor.position + length;
      if (fieldEnd > end) throw new Error(`a field ends ${fieldEnd - end} bytes past its message`);
      handler?.(fieldEnd, true);
      cursor.seek(fieldEnd);
    } else if (wireType === 1 || wireType === 5)
      cursor.seek(cursor.position + (wireType === 1 ? 8 : 4));
    else throw new Error(`wire type ${wireType} at byte ${cursor.position}`);
  }
}

/** The handler of a repeated number, which may be packed. */
export function collectInto(numbers: number[], cursor: Cursor) {
  return (valueOrEnd: number, isPacked: boolean): void => {
    if (!isPacked) numbers.push(valueOrEnd);
    else while (cursor.position < valueOrEnd) numbers.push(cursor.varint());
  };
}

/** One field, its tag and, of bytes, its length read: the cursor stands at its content. */
export interface FieldHead {
  readonly number: number;
  /** Text, bytes or a message. */
  readonly isBytes: boolean;
  /** Where it ends. */
  readonly to: number;
}

/** Reads the head of the next field of a message that ends at `end`. */
export function readField(cursor: Cursor, end: number): FieldHead {
  const tag = cursor.varint();
  const [number, wireType] = [Math.floor(tag / 8), tag % 8];
  if (wireType === 0) {
    cursor.varint();
    return { number, isBytes: false, to: cursor.position };
  }
  if (wireType === 1 || wireType === 5)
    return { number, isBytes: false, to: cursor.position + (wireType === 1 ? 8 : 4) };
  if (wireType !== 2) throw new Error(`wire type ${wireType} at byte ${cursor.position}`);
  const length = cursor.varint();
  const to = cursor.position + length;
  if (to > end) throw new Error(`a field ends ${to - end} bytes past its message`);
  return { number, isBytes: true, to };
}

export interface Cursor {
  readonly size: number;
  readonly position: number;
  seek(position: number): void;
  varint(): number;
  /** UTF-8 up to the offset `end`. */
  text(end: number): string;
}

const WINDOW_BYTES = 65_536;
const MAX_TEXT_BYTES = 1_048_576;

function createCursor(descriptor: number): Cursor {
  const { size } = fstatSync(descriptor);
  const window = Buffer.alloc(WINDOW_BYTES);
  let [windowStart, windowEnd, position] = [0, 0, 0];

  const byte = () => {
    if (position < windowStart || position >= windowEnd) {
      windowStart = position;
      windowEnd = position + readSync(descriptor, window, 0, WINDOW_BYTES, position);
      if (windowEnd === windowStart) throw new Error(`it ends at byte ${position}`);
    }
    return window[position++ - windowStart] ?? 0;
  };
  return {
    size,
    get position() {
      return position;
    },
    seek: (to) => void (position = to),
    varint() {
      let value = 0;
      // A negative int64 takes ten bytes; as a number it is merely large, which no field here uses.
      for (let shift = 0; shift < 10; shift += 1) {
        const part = byte();
        value += (part & 0x7f) * 2 ** (7 * shift);
        if (part < 0x80) return value;
      }
      throw new Error(`a number at byte ${position} does not end`);
    },
    text(end) {
      if (end - position > MAX_TEXT_BYTES)
        throw new Error(`a text at byte ${position} is too long`);
      const bytes = Buffer.alloc(end - position);
      for (let index = 0; index < bytes.length; index += 1) bytes[index] = byte();
      return bytes.toString("utf8");
    },
  };
}
