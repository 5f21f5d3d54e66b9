/** Codes [codebooks, frames], row after row. */
export interface Codes {
  readonly values: Int32Array;
  readonly frames: number;
}

/** Planar samples [channels, length], float32, mostly in [-1, 1]. */
export interface Sound {
  readonly samples: Float32Array;
  readonly channels: number;
  readonly sampleRateHz: number;
}

/** How far a part of the work is, 0 to 1: the codes, step by step, then their sound. */
export interface PieceProgress {
  readonly type: "progress";
  readonly part: "codes" | "sound";
  readonly fraction: number;
}

/** Progress, then once the finished sound. */
export type PieceEvent = PieceProgress | { readonly type: "sound"; readonly sound: Sound };

/** A model that makes a piece of music, whatever its kind. */
export interface MusicModel {
  /** Progress, then once the sound, as long as asked for; same seed, same samples. */
  compose(request: PieceRequest, signal: AbortSignal): AsyncIterable<PieceEvent>;
  close(): Promise<void>;
  /** Share of the work before encoding that the steps are; making their sound is the rest. */
  readonly stepsFraction: number;
}

export interface PieceRequest {
  readonly prompt: string;
  readonly seconds: number;
  readonly seed: number;
}
