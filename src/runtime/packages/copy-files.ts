import { createHash } from "node:crypto";
import { constants, createReadStream, createWriteStream } from "node:fs";
import { chmod, copyFile, mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { pipeline } from "node:stream/promises";

export interface HashedFile {
  readonly sha256: string;
  readonly byteLength: number;
}

/** Gigabytes in few large reads. */
const CHUNK_BYTES = 4 * 1_048_576;

/**
 * Copies a file and hashes it with one read of its bytes: the file system shares the blocks where it
 * can, else the bytes pass by on their way. Hashes in place where both paths are the same.
 */
export async function copyHashed(
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<HashedFile> {
  if (from === to) return hashFile(from, signal);
  await mkdir(dirname(to), { recursive: true });
  if (await cloneFile(from, to)) return hashFile(to, signal);
  const hash = createHash("sha256");
  let byteLength = 0;
  const counted = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      hash.update(chunk);
      byteLength += chunk.byteLength;
      yield chunk;
    }
  };
  const source = createReadStream(from, { highWaterMark: CHUNK_BYTES });
  const target = createWriteStream(to, { flags: "wx", highWaterMark: CHUNK_BYTES });
  await pipeline(source, counted, target, { signal });
  return { sha256: hash.digest("hex"), byteLength };
}

/** Whether the file system made a copy that shares its blocks (btrfs, XFS, ZFS, APFS). */
async function cloneFile(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL);
  } catch {
    return false;
  }
  await chmod(to, 0o644);
  return true;
}

async function hashFile(path: string, signal: AbortSignal): Promise<HashedFile> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path, { highWaterMark: CHUNK_BYTES }), hash, { signal });
  return { sha256: hash.digest("hex"), byteLength: (await stat(path)).size };
}
