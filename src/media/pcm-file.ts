import { open } from "node:fs/promises";

const SAMPLE_BYTES = 2;

/** A file of mono 16-bit samples, read piece by piece. */
export interface PcmFile {
  readonly sampleCount: number;
  /** Samples [from, to) in [-1, 1], float32; zeros outside the file. */
  read(from: number, to: number): Promise<Float32Array>;
  close(): Promise<void>;
}

/** Opens a file of mono samples, signed 16 bit, little-endian, without a header. */
export async function openPcm(path: string): Promise<PcmFile> {
  const file = await open(path, "r");
  const { size } = await file.stat();
  const sampleCount = Math.floor(size / SAMPLE_BYTES);
  return {
    sampleCount,
    async read(from, to) {
      const samples = new Float32Array(to - from);
      const first = Math.max(0, from);
      const count = Math.min(to, sampleCount) - first;
      if (count <= 0) return samples;
      const bytes = Buffer.alloc(count * SAMPLE_BYTES);
      const { bytesRead } = await file.read(bytes, 0, bytes.byteLength, first * SAMPLE_BYTES);
      for (let at = 0; at + SAMPLE_BYTES <= bytesRead; at += SAMPLE_BYTES)
        samples[first - from + at / SAMPLE_BYTES] = bytes.readInt16LE(at) / 32_768;
      return samples;
    },
    close: () => file.close(),
  };
}
