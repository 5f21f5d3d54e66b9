const RATE_HZ = 16_000;
const TONE_HZ = 440;
const HEADER_BYTES = 44;

/** One second of a quiet tone as a 16-bit mono WAV file. */
export function exampleSound(): Uint8Array {
  const bytes = Buffer.alloc(HEADER_BYTES + 2 * RATE_HZ);
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(bytes.byteLength - 8, 4);
  bytes.write("WAVEfmt ", 8, "latin1");
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(RATE_HZ, 24);
  bytes.writeUInt32LE(2 * RATE_HZ, 28);
  bytes.writeUInt16LE(2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write("data", 36, "latin1");
  bytes.writeUInt32LE(2 * RATE_HZ, 40);
  for (let at = 0; at < RATE_HZ; at++) {
    const level = Math.sin((2 * Math.PI * TONE_HZ * at) / RATE_HZ);
    bytes.writeInt16LE(Math.round(level * 8_000), HEADER_BYTES + 2 * at);
  }
  return bytes;
}
