/** A box of an MP4 file (ISO/IEC 14496-12, 4.2): where it and its content start, and where it ends. */
export interface Box {
  readonly type: string;
  readonly start: number;
  readonly content: number;
  readonly end: number;
}

/** Boxes on the way from `moov` to the tables of chunk offsets. */
const CONTAINERS = new Set(["trak", "mdia", "minf", "stbl"]);

/** Whether players can start before the end arrives: the index (`moov`) lies before the data (`mdat`). */
export function hasIndexFirst(bytes: Uint8Array): boolean {
  const types = readBoxes(viewOf(bytes), 0, bytes.byteLength).map(({ type }) => type);
  return types.find((type) => type === "moov" || type === "mdat") === "moov";
}

/**
 * The MP4 with its index (`moov`) before its data (`mdat`), as reading from a pipe needs it; the same
 * bytes where that is so already, or where the file is too broken to tell.
 */
export function withIndexFirst(bytes: Uint8Array): Uint8Array {
  const boxes = readBoxes(viewOf(bytes), 0, bytes.byteLength);
  const index = boxes.find(({ type }) => type === "moov");
  const data = boxes.find(({ type }) => type === "mdat");
  if (index === undefined || data === undefined || index.start < data.start) return bytes;
  const moved = bytes.slice(index.start, index.end);
  shiftChunkOffsets(moved, { from: data.start, to: index.start, by: moved.byteLength });
  return Buffer.concat([
    bytes.subarray(0, data.start),
    moved,
    bytes.subarray(data.start, index.start),
    bytes.subarray(index.end),
  ]);
}

export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** A size of 1 announces a 64-bit size behind the type; 0 means "to the end". */
export function readBoxes(view: DataView, from: number, end: number): Box[] {
  const boxes: Box[] = [];
  let start = from;
  while (start + 8 <= end) {
    const short = view.getUint32(start);
    const isLong = short === 1 && start + 16 <= end;
    const long = isLong ? Number(view.getBigUint64(start + 8)) : short;
    const byteLength = short === 0 ? end - start : long;
    if (byteLength < 8) break;
    const type = String.fromCharCode(...[4, 5, 6, 7].map((at) => view.getUint8(start + at)));
    const boxEnd = Math.min(start + byteLength, end);
    boxes.push({ type, start, content: start + (isLong ? 16 : 8), end: boxEnd });
    start += byteLength;
  }
  return boxes;
}

/** Bytes of the file from `from` to `to` move by so many. */
interface Shift {
  readonly from: number;
  readonly to: number;
  readonly by: number;
}

function shiftChunkOffsets(moov: Uint8Array, shift: Shift): void {
  const view = viewOf(moov);
  const open = readBoxes(view, 8, moov.byteLength);
  for (let box = open.pop(); box !== undefined; box = open.pop()) {
    if (CONTAINERS.has(box.type)) open.push(...readBoxes(view, box.content, box.end));
    if (box.type === "stco" || box.type === "co64") shiftTable(view, box, shift);
  }
}

/** Version and flags, the number of entries, then 32-bit (`stco`) or 64-bit (`co64`) offsets. */
function shiftTable(view: DataView, { type, content, end }: Box, { from, to, by }: Shift): void {
  const width = type === "stco" ? 4 : 8;
  if (content + 8 > end) return;
  const room = Math.floor((end - content - 8) / width);
  const count = Math.min(view.getUint32(content + 4), room);
  for (let entry = 0; entry < count; entry++) {
    const at = content + 8 + entry * width;
    const offset = width === 4 ? view.getUint32(at) : Number(view.getBigUint64(at));
    if (offset < from || offset >= to) continue;
    if (width === 4) view.setUint32(at, offset + by);
    else view.setBigUint64(at, BigInt(offset + by));
  }
}
