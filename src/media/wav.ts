import { writeFile } from "node:fs/promises";

export interface WavFormat {
  readonly sampleRateHz: number;
  readonly channels: number;
}

const HEADER_BYTES = 44;
const IEEE_FLOAT = 3;
const SAMPLE_BYTES = 4;

/** Writes planar samples [channels, time], float32 in [-1, 1], as a float32 WAV file. */
export async function writeWav(
  path: string,
  samples: Float32Array,
  format: WavFormat,
): Promise<void> {
  const ordered = interleave(samples, format.channels);
  const data = new Uint8Array(ordered.buffer, ordered.byteOffset, ordered.byteLength);
  await writeFile(path, Buffer.concat([header(format, data.byteLength), data]));
}

/** [channels, time] to [time, channels]. */
function interleave(planar: Float32Array, channels: number): Float32Array {
  const length = Math.floor(planar.length / channels);
  const interleaved = new Float32Array(length * channels);
  for (let channel = 0; channel < channels; channel++) {
    for (let time = 0; time < length; time++) {
      interleaved[time * channels + channel] = planar[channel * length + time] ?? 0;
    }
  }
  return interleaved;
}

/** The 44 bytes before the samples (RIFF WAVE, 1991), little-endian. */
function header({ sampleRateHz, channels }: WavFormat, dataByteLength: number): Buffer {
  const frameBytes = SAMPLE_BYTES * channels;
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(HEADER_BYTES - 8 + dataByteLength, 4);
  bytes.write("WAVEfmt ", 8, "latin1");
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(IEEE_FLOAT, 20);
  bytes.writeUInt16LE(channels, 22);
  bytes.writeUInt32LE(sampleRateHz, 24);
  bytes.writeUInt32LE(sampleRateHz * frameBytes, 28);
  bytes.writeUInt16LE(frameBytes, 32);
  bytes.writeUInt16LE(8 * SAMPLE_BYTES, 34);
  bytes.write("data", 36, "latin1");
  bytes.writeUInt32LE(dataByteLength, 40);
  return bytes;
}
