import { type FileHandle, open } from "node:fs/promises";
import { JobError } from "../core/errors.js";

/** `float32`: IEEE samples; `s16`: signed 16-bit, clipped and rounded. Both little-endian. */
export type WavSampleFormat = "float32" | "s16";

export interface WavFormat {
  readonly sampleRateHz: number;
  readonly channels: number;
  readonly sampleFormat: WavSampleFormat;
}

export interface WavHeader extends WavFormat {
  /** Where the samples begin, and how many bytes of them there are. */
  readonly dataOffset: number;
  readonly dataByteLength: number;
}

export interface WavWriteOptions {
  readonly sampleFormat?: WavSampleFormat;
  /** Order of the samples: `interleaved` is [time, channels] (the default), `planar` [channels, time]. */
  readonly layout?: "interleaved" | "planar";
}

/** A WAV file that grows; its header is completed by `close`. */
export interface WavWriter {
  /** Interleaved samples [time, channels], float32 in [-1, 1]. */
  write(samples: Float32Array): Promise<void>;
  /** Seals the file. Call it in `finally`; a second call does nothing. */
  close(): Promise<void>;
}

const HEADER_BYTES = 44;
/** Length of a stream whose end is not known yet; players read on to the end. */
const UNKNOWN_BYTES = 0xffff_ffff - HEADER_BYTES;
const FORMAT_TAGS = { float32: 3, s16: 1 } as const satisfies Record<WavSampleFormat, number>;
const SAMPLE_BYTES = { float32: 4, s16: 2 } as const satisfies Record<WavSampleFormat, number>;

/** The 44 bytes before the samples (RIFF WAVE, 1991); without a length, the header of an endless stream. */
export function wavHeader(format: WavFormat, dataByteLength: number = UNKNOWN_BYTES): Uint8Array {
  const frameBytes = SAMPLE_BYTES[format.sampleFormat] * format.channels;
  const header = Buffer.alloc(HEADER_BYTES);
  header.write("RIFF", 0, "latin1");
  header.writeUInt32LE(HEADER_BYTES - 8 + dataByteLength, 4);
  header.write("WAVEfmt ", 8, "latin1");
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(FORMAT_TAGS[format.sampleFormat], 20);
  header.writeUInt16LE(format.channels, 22);
  header.writeUInt32LE(format.sampleRateHz, 24);
  header.writeUInt32LE(format.sampleRateHz * frameBytes, 28);
  header.writeUInt16LE(frameBytes, 32);
  header.writeUInt16LE(SAMPLE_BYTES[format.sampleFormat] * 8, 34);
  header.write("data", 36, "latin1");
  header.writeUInt32LE(dataByteLength, 40);
  return header;
}

/** Bytes of interleaved float32 samples in [-1, 1]. `float32` shares the array's memory. */
function encodeSamples(samples: Float32Array, sampleFormat: WavSampleFormat): Uint8Array {
  if (sampleFormat === "float32")
    return new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  const rounded = Int16Array.from(samples, (sample) =>
    Math.round(Math.max(-1, Math.min(1, sample)) * 32_767),
  );
  return new Uint8Array(rounded.buffer);
}

/** A whole WAV in memory from interleaved samples [time, channels], float32 in [-1, 1]. */
export function encodeWav(samples: Float32Array, format: WavFormat): Uint8Array {
  const data = encodeSamples(samples, format.sampleFormat);
  return Buffer.concat([wavHeader(format, data.byteLength), data]);
}

/** Writes a whole WAV file; float32 unless told otherwise. */
export async function writeWav(
  path: string,
  samples: Float32Array,
  options: Omit<WavFormat, "sampleFormat"> & WavWriteOptions,
): Promise<void> {
  const { layout = "interleaved", sampleFormat = "float32", ...format } = options;
  const ordered =
    layout === "planar" ? interleave(splitChannels(samples, format.channels)) : samples;
  const writer = await openWav(path, { ...format, sampleFormat });
  try {
    await writer.write(ordered);
  } finally {
    await writer.close();
  }
}

/** Planar channels, each [time], to interleaved [time, channels]. */
export function interleave(channels: readonly Float32Array[]): Float32Array {
  const length = Math.min(...channels.map((channel) => channel.length));
  const samples = new Float32Array(length * channels.length);
  channels.forEach((channel, index) => {
    for (let time = 0; time < length; time++)
      samples[time * channels.length + index] = channel[time] ?? 0;
  });
  return samples;
}

/** Views of the channels of planar samples [channels, time]. */
function splitChannels(samples: Float32Array, channels: number): Float32Array[] {
  const length = Math.floor(samples.length / channels);
  return Array.from({ length: channels }, (_, index) =>
    samples.subarray(index * length, (index + 1) * length),
  );
}

/** Opens a WAV for writing piece by piece. */
export async function openWav(path: string, format: WavFormat): Promise<WavWriter> {
  const file = await open(path, "w");
  let byteLength = 0;
  let closed = false;
  await file.write(wavHeader(format, 0));
  return {
    async write(samples) {
      const data = encodeSamples(samples, format.sampleFormat);
      await writeAll(file, data, HEADER_BYTES + byteLength);
      byteLength += data.byteLength;
    },
    async close() {
      if (closed) return;
      closed = true;
      try {
        await writeAll(file, wavHeader(format, byteLength), 0);
      } finally {
        await file.close();
      }
    },
  };
}

/** Finds format and samples of a WAV; other chunks are skipped. Throws `invalid_value` for what is not one. */
export function parseWavHeader(bytes: Uint8Array): WavHeader {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.toString("latin1", 0, 4) !== "RIFF" || view.toString("latin1", 8, 12) !== "WAVE")
    throw new JobError("invalid_value", "sound must be a WAV file: RIFF … WAVE is missing");
  let format: WavFormat | undefined;
  for (let offset = 12; offset + 8 <= view.length;) {
    const id = view.toString("latin1", offset, offset + 4);
    const byteLength = view.readUInt32LE(offset + 4);
    const start = offset + 8;
    if (id === "fmt " && start + 16 <= view.length)
      format = parseFormat(view.subarray(start, start + 16));
    if (id === "data" && format !== undefined)
      return {
        ...format,
        dataOffset: start,
        dataByteLength: Math.min(byteLength, view.length - start),
      };
    offset = start + byteLength + (byteLength % 2);
  }
  throw new JobError("invalid_value", "sound must be a WAV file: its fmt or data chunk is missing");
}

/** Interleaved samples [time, channels], float32 in [-1, 1], of a WAV in memory. */
export function decodeWav(bytes: Uint8Array): WavFormat & { readonly samples: Float32Array } {
  const { dataOffset, dataByteLength, ...format } = parseWavHeader(bytes);
  const sampleBytes = SAMPLE_BYTES[format.sampleFormat];
  // A copy starts at an aligned address whatever the header's length.
  const end = dataOffset + dataByteLength - (dataByteLength % sampleBytes);
  const data = new Uint8Array(bytes.subarray(dataOffset, end));
  if (format.sampleFormat === "float32")
    return {
      ...format,
      samples: new Float32Array(data.buffer, data.byteOffset, data.byteLength / 4),
    };
  const integers = new Int16Array(data.buffer, data.byteOffset, data.byteLength / 2);
  return { ...format, samples: Float32Array.from(integers, (sample) => sample / 32_768) };
}

function parseFormat(chunk: Buffer): WavFormat {
  const tag = chunk.readUInt16LE(0);
  const bits = chunk.readUInt16LE(14);
  const sampleFormat =
    tag === 3 && bits === 32 ? "float32" : tag === 1 && bits === 16 ? "s16" : undefined;
  if (sampleFormat === undefined)
    throw new JobError(
      "invalid_value",
      `WAV samples must be float32 or s16, got format ${tag} with ${bits} bits`,
    );
  return { sampleFormat, channels: chunk.readUInt16LE(2), sampleRateHz: chunk.readUInt32LE(4) };
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0;
  while (written < bytes.byteLength) {
    const rest = bytes.byteLength - written;
    const { bytesWritten } = await file.write(bytes, written, rest, position + written);
    written += bytesWritten;
  }
}
