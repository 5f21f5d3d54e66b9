/** How rows of codes lie in the columns a decoder reads: codebook k starts k columns late. */
export interface DelayPattern {
  /** Rows of codes, those of both channels together. */
  readonly codebooks: number;
  readonly channels: 1 | 2;
  /** Frames of the piece. */
  readonly frames: number;
}

/**
 * Columns of a piece: one of padding, its frames, and as many as the last codebook is late
 * (MusicGen, arXiv 2306.05284, section 2.2).
 */
export function columnCount({ codebooks, channels, frames }: DelayPattern): number {
  return frames + codebooks / channels;
}

/**
 * The frame whose code stands in a row at a column; undefined where the row is padded. Both channels of a
 * stereo model have the same delay: their rows alternate.
 */
export function frameAt(pattern: DelayPattern, row: number, column: number): number | undefined {
  const frame = column - 1 - Math.floor(row / pattern.channels);
  return frame >= 0 && frame < pattern.frames ? frame : undefined;
}

/** One stretch of frames made in one go; the first `known` of them were made before. */
export interface CodeWindow {
  /** Where it begins in the piece. */
  readonly start: number;
  readonly frames: number;
  readonly known: number;
}

/** Windows that make a piece of any length: each goes on from the last frames of the one before. */
export function planWindows(
  totalFrames: number,
  {
    windowFrames,
    overlapFrames,
  }: { readonly windowFrames: number; readonly overlapFrames: number },
): CodeWindow[] {
  const windows: CodeWindow[] = [];
  for (let made = 0; made < totalFrames;) {
    const known = Math.min(made, overlapFrames);
    const frames = Math.min(windowFrames, known + totalFrames - made);
    windows.push({ start: made - known, frames, known });
    made += frames - known;
  }
  return windows;
}
