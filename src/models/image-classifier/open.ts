import { z } from "zod";
import {
  type ModelPackage,
  openModelGraphs,
  readModelJson,
  threadsFor,
} from "../../runtime/packages/model-package.js";
import { float32 } from "../../runtime/tensors/tensor.js";
import type { BatchRunner, Sized } from "../../runtime/batching/batch-runner.js";
import { type EncoderConfig, readEncoderConfig } from "../encoder/settings.js";
import { createGraphRunner, type EncoderSetup, findOutput, labelsOf } from "../encoder/open.js";

/** Pixels of one picture as the graph wants them. */
export interface PicturePixels extends Sized {
  /** [3, height, width], float32, normalised. */
  readonly planes: Float32Array;
}

/** How a picture becomes pixels, as preprocessor_config.json says it. */
export interface PictureSettings {
  /** The picture is stretched to this size, or scaled until its shorter side has it. */
  readonly resize:
    | { readonly width: number; readonly height: number }
    | { readonly shortestEdge: number }
    | null;
  /** Cut from the middle after resizing. */
  readonly crop: { readonly width: number; readonly height: number } | null;
  /** PIL's resampling filters. */
  readonly filter: "nearest" | "lanczos" | "bilinear" | "bicubic";
  /** Value = byte × scale, then (value − mean) ÷ deviation for each of red, green and blue. */
  readonly scale: number;
  readonly mean: readonly number[];
  readonly deviation: readonly number[];
}

export interface PictureClassifier {
  readonly config: EncoderConfig;
  readonly labels: readonly string[];
  readonly settings: PictureSettings;
  /** [width, height] of the pixels. */
  readonly size: readonly [number, number];
  /** One row of logits a picture. */
  readonly run: BatchRunner<PicturePixels>["run"];
  close(): Promise<void>;
}

const ROLE = "classifier";
const MAX_PICTURES = 8;

/** Opens a package of pipeline `image-classifier`: roles `classifier`, `config`, `preprocessor-config`. */
export async function openPictureClassifier(
  model: ModelPackage,
  setup: EncoderSetup,
): Promise<PictureClassifier> {
  const config = await readEncoderConfig(model);
  const file = await readModelJson(model, "preprocessor-config", z.unknown());
  const settings = parsePictureSettings(file);
  const size = sizeOf(settings, model.path);
  const threads = threadsFor(model, ROLE, setup.threads);
  const session = await openModelGraphs(model, [ROLE], { ...setup, threads });
  const info = session.info[ROLE] ?? { inputs: [], outputs: [] };
  const [input] = info.inputs;
  const output = findOutput(info, ["logits"], 2);
  if (input === undefined || info.inputs.length !== 1 || output === undefined) {
    await session.close();
    throw new Error(`${model.path}: the graph ${ROLE} must take pixel_values and give logits`);
  }
  const fixedRows =
    typeof input.dims[0] === "number" && input.dims[0] > 0 ? input.dims[0] : undefined;
  const maxRows = fixedRows ?? MAX_PICTURES;
  const runner = createGraphRunner<PicturePixels>(session, {
    role: ROLE,
    output: output.name,
    limits: { maxPadded: maxRows, maxRows, worthwhile: 1, equalLengths: false },
    pack(pictures) {
      const rows = fixedRows ?? pictures.length;
      const [width, height] = size;
      const values = new Float32Array(rows * 3 * width * height);
      for (const [row, { planes }] of pictures.entries()) values.set(planes, row * planes.length);
      return [{ [input.name]: float32(values, [rows, 3, height, width]) }];
    },
  });
  return {
    config,
    labels: labelsOf(config.id2label ?? {}),
    settings,
    size,
    ...runner,
  };
}

const side = z.int().positive().max(4_096);
const sizeValue = z.union([
  side.transform((edge) => ({ width: edge, height: edge })),
  z.object({ width: side, height: side }),
  z
    .object({ shortest_edge: side })
    .transform(({ shortest_edge: edge }) => ({ shortestEdge: edge })),
]);
const triple = z.array(z.number()).length(3);
const preprocessor = z.object({
  do_resize: z.boolean().default(true),
  size: sizeValue.optional(),
  resample: z.int().default(2),
  do_center_crop: z.boolean().default(false),
  crop_size: sizeValue.optional(),
  do_rescale: z.boolean().default(true),
  rescale_factor: z.number().default(1 / 255),
  do_normalize: z.boolean().default(true),
  image_mean: triple.default([0.5, 0.5, 0.5]),
  image_std: triple.default([0.5, 0.5, 0.5]),
});

/** PIL.Image.Resampling. */
const FILTERS: Readonly<Record<number, PictureSettings["filter"]>> = {
  0: "nearest",
  1: "lanczos",
  2: "bilinear",
  3: "bicubic",
};

/** What a transformers image processor does, from its file. */
export function parsePictureSettings(file: unknown): PictureSettings {
  const parsed = preprocessor.parse(file);
  const { crop_size: cropSize, size } = parsed;
  const crop = parsed.do_center_crop ? (cropSize ?? size) : undefined;
  return {
    resize: parsed.do_resize ? (size ?? { width: 224, height: 224 }) : null,
    crop: crop !== undefined && "width" in crop ? crop : null,
    filter: FILTERS[parsed.resample] ?? "bilinear",
    scale: parsed.do_rescale ? parsed.rescale_factor : 1,
    mean: parsed.do_normalize ? parsed.image_mean : [0, 0, 0],
    deviation: parsed.do_normalize ? parsed.image_std : [1, 1, 1],
  };
}

function sizeOf({ crop, resize }: PictureSettings, path: string): readonly [number, number] {
  if (crop !== null) return [crop.width, crop.height];
  if (resize !== null && "width" in resize) return [resize.width, resize.height];
  throw new Error(`${path}: preprocessor_config.json must give a size or a crop_size`);
}

/** Planes from RGB bytes [height, width, 3]. */
export function toPlanes(
  rgb: Uint8Array,
  { scale, mean, deviation }: PictureSettings,
): PicturePixels {
  const pixels = rgb.length / 3;
  const planes = new Float32Array(rgb.length);
  for (let channel = 0; channel < 3; channel += 1) {
    const [centre = 0, spread = 1] = [mean[channel], deviation[channel]];
    for (let pixel = 0; pixel < pixels; pixel += 1)
      planes[channel * pixels + pixel] =
        ((rgb[pixel * 3 + channel] ?? 0) * scale - centre) / spread;
  }
  return { planes, length: 1 };
}
