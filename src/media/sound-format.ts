import { JobError } from "../core/errors.js";

/** How a sound upload is read: ffmpeg's demuxer, never guessed from the name or by ffmpeg itself. */
export interface SoundFormat {
  readonly name: string;
  readonly demuxer: string;
  readonly mediaType: string;
}

const WAV = { name: "wav", demuxer: "wav", mediaType: "audio/wav" };
const FLAC = { name: "flac", demuxer: "flac", mediaType: "audio/flac" };
const OGG = { name: "ogg", demuxer: "ogg", mediaType: "audio/ogg" };
const MATROSKA = { name: "webm", demuxer: "matroska", mediaType: "audio/webm" };
const MP4 = { name: "mp4", demuxer: "mov", mediaType: "audio/mp4" };
const PROGRAM_STREAM = { name: "mpeg", demuxer: "mpeg", mediaType: "video/mpeg" };
const AMR = { name: "amr", demuxer: "amr", mediaType: "audio/amr" };
const MP3 = { name: "mp3", demuxer: "mp3", mediaType: "audio/mpeg" };
const AAC = { name: "aac", demuxer: "aac", mediaType: "audio/aac" };

const NAMES = "wav, mp3, flac, ogg, opus, webm, mp4, m4a, mov, mpeg, mpga, aac or amr";

/** First bytes that settle the format; `at` is where they stand. */
const MAGIC: readonly {
  readonly at: number;
  readonly magic: string;
  readonly format: SoundFormat;
}[] = [
  { at: 8, magic: "WAVE", format: WAV },
  { at: 0, magic: "fLaC", format: FLAC },
  { at: 0, magic: "OggS", format: OGG },
  { at: 0, magic: "\x1aE\xdf\xa3", format: MATROSKA },
  { at: 4, magic: "ftyp", format: MP4 },
  { at: 0, magic: "\x00\x00\x01\xba", format: PROGRAM_STREAM },
  { at: 0, magic: "#!AMR", format: AMR },
];
const WAVE_FORMS = new Set(["RIFF", "RF64"]);

/** The format of an upload by its first bytes. Throws `invalid_value` where it is none we read. */
export function detectSoundFormat(bytes: Uint8Array, param: string): SoundFormat {
  if (bytes.byteLength === 0) throw refusal(`${param} must not be empty`, param);
  const format = findFormat(bytes);
  if (format !== undefined) return format;
  throw refusal(`${param} must be a sound file: ${NAMES}; its first bytes are of none`, param);
}

function findFormat(bytes: Uint8Array): SoundFormat | undefined {
  const start = bytes.subarray(id3Length(bytes));
  const found = MAGIC.find(({ at, magic }) => textAt(start, at, magic.length) === magic)?.format;
  if (found === WAV) return WAVE_FORMS.has(textAt(start, 0, 4)) ? WAV : undefined;
  if (found !== undefined) return found;
  const frame = mpegFrame(start);
  // An ID3 tag in front of what is not a frame yet (padding) is what MP3 encoders leave.
  return frame ?? (start.byteLength < bytes.byteLength ? MP3 : undefined);
}

/** ADTS has layer 0; MPEG audio layers 1 to 3, with a real bit rate and sample rate. */
function mpegFrame(bytes: Uint8Array): SoundFormat | undefined {
  const [first = 0, second = 0, third = 0] = bytes;
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  const layer = (second >> 1) & 3;
  if (layer === 0) return (second & 0xf0) === 0xf0 ? AAC : undefined;
  const hasVersion = ((second >> 3) & 3) !== 1;
  const hasRates = third >> 4 !== 15 && ((third >> 2) & 3) !== 3;
  return hasVersion && hasRates ? MP3 : undefined;
}

/** Length of an ID3v2 tag in front, 0 for none (id3.org, ID3v2.4.0 structure, 3.1). */
function id3Length(bytes: Uint8Array): number {
  if (bytes.byteLength < 10 || textAt(bytes, 0, 3) !== "ID3") return 0;
  const digits = bytes.subarray(6, 10);
  return digits.reduce((length, digit) => length * 128 + (digit & 0x7f), 0) + 10;
}

function textAt(bytes: Uint8Array, at: number, length: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(
    "latin1",
    at,
    at + length,
  );
}

function refusal(message: string, param: string): JobError {
  return new JobError("invalid_value", message, { param });
}
