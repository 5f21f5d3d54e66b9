/** Eight pitches, Hz: multiples of 40, so that a frame of Whisper's features holds whole periods of each. */
export const PITCHES_HZ = [400, 640, 920, 1_280, 1_760, 2_400, 3_240, 4_360];
/** Each note lasts half a second. */
const NOTE_SECONDS = 0.5;

/** The nearest of `bins` filters on Slaney's mel scale up to 8 kHz (Auditory Toolbox, 1998). */
export function melBinOf(hz: number, bins: number): number {
  const mel = (it: number) =>
    it < 1_000 ? (3 * it) / 200 : 15 + (27 * Math.log(it / 1_000)) / Math.log(6.4);
  return Math.round((mel(hz) / mel(8_000)) * (bins + 1)) - 1;
}

/** Mono samples of a sine of half the full scale, and of silence where `hz` is 0. */
export function tone(hz: number, seconds: number, sampleRateHz = 16_000): Float32Array {
  return Float32Array.from(
    { length: Math.round(seconds * sampleRateHz) },
    (_, at) => 0.5 * Math.sin((2 * Math.PI * hz * at) / sampleRateHz),
  );
}

/** One note of half a second a digit: the pitch of that number; a space is silence. */
export function melody(notes: string): Float32Array {
  const parts = Array.from(notes, (note) =>
    tone(note === " " ? 0 : (PITCHES_HZ[Number(note)] ?? 0), NOTE_SECONDS),
  );
  const sound = new Float32Array(parts.length * NOTE_SECONDS * 16_000);
  for (const [place, part] of parts.entries()) sound.set(part, place * part.length);
  return sound;
}

/** A WAV file of 16 bit, mono. */
export function wavOf(samples: Float32Array, sampleRateHz = 16_000): Buffer {
  const bytes = Buffer.alloc(44 + 2 * samples.length);
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write("WAVEfmt ", 8, "latin1");
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(sampleRateHz, 24);
  bytes.writeUInt32LE(2 * sampleRateHz, 28);
  bytes.writeUInt16LE(2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write("data", 36, "latin1");
  bytes.writeUInt32LE(2 * samples.length, 40);
  for (const [at, sample] of samples.entries())
    bytes.writeInt16LE(Math.round(sample * 32_767), 44 + 2 * at);
  return bytes;
}
