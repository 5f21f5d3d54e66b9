/** The formats a caller may order sound in. */
export const AUDIO_FORMATS = ["mp3", "opus", "aac", "flac", "wav", "pcm"] as const;

export type AudioFormat = (typeof AUDIO_FORMATS)[number];

/** Sample rate of headerless `pcm`, Hz: nothing in the file says it, so it is the same for every model. */
export const PCM_RATE_HZ = 24_000;

/** Opus comes in Ogg (RFC 7845), AAC as ADTS, `pcm` as signed 16-bit little-endian. */
export const AUDIO_MEDIA_TYPES: Readonly<Record<AudioFormat, string>> = {
  mp3: "audio/mpeg",
  opus: "audio/ogg; codecs=opus",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
};
