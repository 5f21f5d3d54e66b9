import { open, writeFile } from "node:fs/promises";

export interface WavFormat {
  readonly sampleRateHz: number;
  readonly channels: number;
}

/** Format tag and bytes of a sample. */
const SAMPLES = { float32: { tag: 3, byteLength: 4 }, int16: { tag: 1, byteLength: 2 } } as const;

export type WavSample = keyof typeof SAMPLES;

const HEADER_BYTES = 44;
/** What a header says of a length that is not known yet: readers take what comes. */
const UNKNOWN_BYTES = 0xff_ff_ff_ff;

/** Writes planar samples [channels, time], float32 in [-1, 1], as a float32 WAV file. */
export async function writeWav(
  path: string,
  samples: Float32Array,
  format: WavFormat,
): Promise<void> {
  const ordered = interleave(samples, format.channels);
  const data = new Uint8Array(ordered.buffer, ordered.byteOffset, ordered.byteLength);
  await writeFile(path, Buffer.concat([wavHeader(format, "float32", data.byteLength), data]));
}

/** [channels, time] to [time, channels]; one channel is returned as it is. */
export function interleave(planar: Float32Array, channels: number): Float32Array {
  if (channels === 1) return planar;
  const length = Math.floor(planar.length / channels);
  const interleaved = new Float32Array(length * channels);
  for (let channel = 0; channel < channels; channel++) {
    for (let time = 0; time < length; time++) {
      interleaved[time * channels + channel] = planar[channel * length + time] ?? 0;
    }
  }
  return interleaved;
}

/** Samples in [-1, 1] as signed 16-bit little-endian; what lies beyond is clipped, NaN becomes 0. */
export function toPcm16(samples: Float32Array): Uint8Array {
  const data = new DataView(new ArrayBuffer(2 * samples.length));
  for (let index = 0; index < samples.length; index += 1) {
    const sample = Math.max(-1, Math.min(1, samples[index] ?? 0));
    data.setInt16(2 * index, Math.round(sample * 32_767), true);
  }
  return new Uint8Array(data.buffer);
}

/**
 * The 44 bytes before the samples (RIFF WAVE, 1991), little-endian. Without a length it announces the
 * longest there is, as streams do.
 */
export function wavHeader(
  { sampleRateHz, channels }: WavFormat,
  sample: WavSample,
  dataByteLength: number | undefined,
): Buffer {
  const { tag, byteLength } = SAMPLES[sample];
  const frameBytes = byteLength * channels;
  const bytes = Buffer.alloc(HEADER_BYTES);
  const isKnown = dataByteLength !== undefined;
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(isKnown ? HEADER_BYTES - 8 + dataByteLength : UNKNOWN_BYTES, 4);
  bytes.write("WAVEfmt ", 8, "latin1");
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(tag, 20);
  bytes.writeUInt16LE(channels, 22);
  bytes.writeUInt32LE(sampleRateHz, 24);
  bytes.writeUInt32LE(sampleRateHz * frameBytes, 28);
  bytes.writeUInt16LE(frameBytes, 32);
  bytes.writeUInt16LE(8 * byteLength, 34);
  bytes.write("data", 36, "latin1");
  bytes.writeUInt32LE(dataByteLength ?? UNKNOWN_BYTES, 40);
  return bytes;
}

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
