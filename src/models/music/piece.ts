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
