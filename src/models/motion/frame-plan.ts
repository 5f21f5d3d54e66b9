import type { Tensor } from "../../runtime/tensors/tensor.js";

/** The still part of a clip and its moving layers, as 8-bit planes. */
export interface Canvas {
  readonly rows: number;
  readonly columns: number;
  /** Y [1, 1, rows, columns] and U, V [1, 2, rows / 2, columns / 2], BT.709, limited range. */
  readonly luma: Uint8Array;
  readonly chroma: Uint8Array;
  /** Cover of two bands that scroll over the canvas; one byte where a band has no strength. */
  readonly bands: readonly Plane[];
  /** Cover of what falls or drifts before the camera, one period larger than the frame. */
  readonly tile: Plane;
  /** Of the bands and the tile [3, 6]: speed right and down (frame heights a second), Y, U, V, strength. */
  readonly looks: Float32Array;
  /** Whole pixels after which the tile repeats. */
  readonly tilePeriod: number;
}

export interface Plane {
  readonly data: Uint8Array;
  readonly dims: readonly [number, number];
}

/** What the whole-clip decoder says: where camera, subject and shadow are in each frame. */
export interface Scene {
  /** Tokens of the clip [1, still tokens + latent steps, channels], float32. */
  readonly latents: Tensor;
  /** Phases of the subject [8, 4, 128, 128], float32, premultiplied RGBA. */
  readonly sprite: Float32Array;
  /** Frame to subject coordinates [frames, 2, 3], float32. */
  readonly transforms: Float32Array;
  /** Share of each phase [frames, 8], float32. */
  readonly spriteWeights: Float32Array;
  /** Pan right, pan down (frame heights) and zoom [frames, 3], float32. */
  readonly cameras: Float32Array;
  /** Frame to shadow coordinates [frames, 2, 3], and strengths 0..1 [frames, 1], float32. */
  readonly shadowTransforms: Float32Array;
  readonly shadowStrengths: Float32Array;
}

/** The picture to animate: it is the clip's canvas. */
export interface Picture {
  /** Planes of the picture at the canvas's size. */
  paint(rows: number, columns: number): Promise<Pick<Canvas, "luma" | "chroma">>;
}

export interface FramePlan {
  readonly scene: Scene;
  readonly frameCount: number;
  readonly width: number;
  readonly height: number;
  readonly picture: Picture | null;
}
