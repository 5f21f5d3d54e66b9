import type { PcmFile } from "../../media/pcm-file.js";
import type { TranscriptionRequest } from "./request.js";
import type { HeardWindow } from "./transcribe-sound.js";

/** What a family of models makes of a sound. */
export interface Listener {
  readonly modelId: string;
  /** ISO 639 codes that a caller may name. */
  readonly languages: readonly string[];
  /** Why it cannot tell when words are said; undefined where it can. */
  readonly whyNoWordTimes: string | undefined;
  readonly maxSeconds: number | undefined;
  /** Windows in order; each is settled. */
  listen(request: TranscriptionRequest, sound: ListenedSound): AsyncIterable<HeardWindow>;
  close(): Promise<void>;
}

export interface ListenedSound {
  readonly pcm: PcmFile;
  readonly signal: AbortSignal;
}
