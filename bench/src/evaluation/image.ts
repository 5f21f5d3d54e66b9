import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Graphs } from "../../../src/runtime/ort/graphs.js";
import { float32, floatsOf } from "../../../src/runtime/tensors/tensor.js";
import { fitPicture } from "../../../src/media/image.js";
import {
  type Evaluate,
  type EvaluationContext,
  mean,
  type Measures,
  readCases,
  rounded,
} from "./evaluator.js";
import {
  type Attributes,
  distanceFromStandardNormal,
  edgeSharpness,
  type Found,
  probeEach,
  readLogits,
  shareFound,
  shareUnheard,
} from "./probe.js";

const prompt = z.object({
  /**
   * grammar: the training grammar's; unseen: words that it never uses; everyday: as a stranger types them;
   * outside: of what the model does not know, for the eye alone.
   */
  set: z.enum(["grammar", "unseen", "everyday", "outside"]),
  prompt: z.string(),
  size: z.string().regex(/^\d+x\d+$/),
  seed: z.int(),
  /** Attribute to value, as far as the prompt states it. */
  stated: z.record(z.string(), z.string()),
  /** Attributes whose word no training ever held. */
  unheard: z.array(z.string()).default([]),
});
/** Values of each attribute, in the order of the probe's logits. */
const attributes = z.record(z.string(), z.array(z.string()));

type Prompt = z.infer<typeof prompt>;

interface Seen extends Prompt {
  /** What the probe found. */
  readonly found: Found["found"];
  readonly features: Float32Array;
  readonly sharpness: number;
}

/** Side of the square that the probe sees, in pixels. */
const SIDE = 112;
const UNSEEN = ["subject", "setting", "colour"];
const EVERYDAY = ["subject", "setting"];

/**
 * Share of the stated attributes that a probe finds in the pictures, for prompts of the training grammar
 * for words that it never used and for everyday prompts; distance of the probe's features to painted stills; sharpness of edges.
 */
export const evaluateImage: Evaluate = async (context) => {
  const { folder, limit } = context;
  const all = [
    ...(await readCases([folder, "prompts.jsonl"], prompt)),
    ...(await readCases([folder, "everyday.jsonl"], prompt)),
  ];
  const cases = (["grammar", "unseen", "everyday"] as const).flatMap((set) =>
    all.filter((one) => one.set === set).slice(0, limit),
  );
  const known = attributes.parse(
    JSON.parse(await readFile(join(folder, "attributes.json"), "utf8")),
  );
  const seen = await probeEach(context, cases, async (one, probe) => {
    return await makeAndSee(one, { context, probe, known });
  });
  return measuresOf(seen, known);
};

interface Judging {
  readonly context: EvaluationContext;
  readonly probe: Graphs;
  readonly known: Attributes;
}

async function makeAndSee(one: Prompt, { context, probe, known }: Judging): Promise<Seen> {
  const { prompt: text, size, seed } = one;
  const made = await context.make({ model: context.model.id, prompt: text, size, seed });
  const path = made.files.get("image-0");
  if (path === undefined) throw new Error(`no picture was made of: ${text}`);
  const [width = 0, height = 0] = size.split("x").map(Number);
  const bytes = await readFile(path);
  const outputs = await probe.run("probe", {
    pictures: float32(planesOf(await scaled(bytes, SIDE, SIDE)), [1, 3, SIDE, SIDE]),
    aspects: float32(Float32Array.of(width / height), [1]),
  });
  const values = brightnessOf(await scaled(bytes, width, height));
  return {
    ...one,
    found: readLogits(floatsOf(outputs, "logits"), known),
    features: floatsOf(outputs, "features").slice(),
    sharpness: edgeSharpness({ values, width, height }),
  };
}

/** RGB [height, width, 3], uint8. */
function scaled(bytes: Uint8Array, width: number, height: number): Promise<Uint8Array> {
  return fitPicture(bytes, {
    resize: { width, height },
    size: [width, height],
    filter: "bilinear",
  });
}

/** RGB bytes [pixels, 3] as planes [3, pixels] in 0..1. */
function planesOf(rgb: Uint8Array): Float32Array {
  const size = rgb.length / 3;
  return Float32Array.from({ length: rgb.length }, (_, at) => {
    const [channel, pixel] = [Math.floor(at / size), at % size];
    return (rgb[pixel * 3 + channel] ?? 0) / 255;
  });
}

function brightnessOf(rgb: Uint8Array): Uint8Array {
  const values = new Uint8Array(rgb.length / 3);
  for (let pixel = 0; pixel < values.length; pixel += 1) {
    const [red = 0, green = 0, blue = 0] = rgb.subarray(pixel * 3, pixel * 3 + 3);
    values[pixel] = 0.299 * red + 0.587 * green + 0.114 * blue;
  }
  return values;
}

function measuresOf(all: readonly Seen[], known: Attributes): Measures {
  const of = (set: Prompt["set"]) => all.filter((one) => one.set === set);
  const [unseen, everyday] = [of("unseen"), of("everyday")];
  const shares = Object.keys(known).map((name) => [name, shareFound(of("grammar"), name)] as const);
  const others = UNSEEN.map((name) => [`unseen_${name}`, shareFound(unseen, name)] as const);
  const strange = EVERYDAY.map((name) => [`everyday_${name}`, shareFound(everyday, name)] as const);
  const seen = [...of("grammar"), ...unseen];
  const edges = seen.map(({ sharpness }) => sharpness).filter((value) => !Number.isNaN(value));
  return {
    ...Object.fromEntries([...shares, ...others, ...strange]),
    unheard_words: shareUnheard(unseen),
    frechet: rounded(distanceFromStandardNormal(seen.map(({ features }) => features))),
    edge_sharpness: rounded(mean(edges)),
  };
}
