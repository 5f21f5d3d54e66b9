import { type FileHandle, open } from "node:fs/promises";
import { JobError } from "../core/errors.js";

/**
 * Whether an MP4's index (`moov`) lies before its data (`mdat`), so that players start before the end
 * arrives: walks the top-level boxes (ISO/IEC 14496-12, 4.2) up to the first of the two.
 */
export async function hasIndexFirst(path: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { size: fileSize } = await file.stat();
    let offset = 0;
    while (offset + 8 <= fileSize) {
      const box = await readBox(file, offset);
      if (box.type === "moov") return true;
      if (box.type === "mdat" || box.byteLength < 8) return false;
      offset += box.byteLength;
    }
    return false;
  } finally {
    await file.close();
  }
}

/** A size of 1 announces a 64-bit size behind the type; 0 means "to the end of the file". */
async function readBox(
  file: FileHandle,
  offset: number,
): Promise<{ type: string; byteLength: number }> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(16), 0, 16, offset);
  if (bytesRead < 8) throw new JobError("encoder_failed", `MP4 box at byte ${offset} is cut off`);
  const short = buffer.readUInt32BE(0);
  const byteLength = short === 1 ? Number(buffer.readBigUInt64BE(8)) : short;
  return { type: buffer.toString("latin1", 4, 8), byteLength };
}
