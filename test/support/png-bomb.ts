import { crc32, deflateSync } from "node:zlib";

/** A 1-bit greyscale PNG of zeros, deflated a thousandfold; of its rows at most `mostBytes` are there. */
export function pngBomb(width: number, height: number, mostBytes = Infinity): Buffer {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const rowBytes = Math.ceil(width / 8 + 1);
  const rows = Math.min(height, Math.floor(mostBytes / rowBytes));
  const data = deflateSync(Buffer.alloc(rowBytes * rows), { level: 9 });
  const chunks = [chunk("IHDR", header), chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), ...chunks]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.byteLength);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
