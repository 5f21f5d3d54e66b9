import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { openSessions, type SessionThread } from "../../../src/runtime/ort/session.js";
import { float32, floatsOf } from "../../../src/runtime/tensors/tensor.js";
import type { Evaluate, EvaluationContext, Measures } from "./evaluator.js";
import { distanceFromStandardNormal } from "./frechet.js";
import { type Found, readLogits, shareFound, shareUnheard } from "./probed-attributes.js";
import { mean, readCases, rounded } from "./text-cases.js";
import { measureFlicker, readSeenFrames, SEEN } from "./video-frames.js";
import { readSoundSignature } from "./video-sound.js";

const prompt = z.object({
  /** grammar: the training grammar's, unseen: words it never uses, still: nothing moves, sound: heard. */
  set: z.enum(["grammar", "unseen", "still", "sound"]),
  prompt: z.string(),
  seed: z.int(),
  /** Attribute to value, as far as the prompt states it; of set sound the kind of sound. */
  stated: z.record(z.string(), z.string()),
  /** Nothing moves in the upper quarter. */
  still: z.boolean().default(false),
  /** Attributes whose word no training ever held. */
  unheard: z.array(z.string()).default([]),
});
const judges = z.object({
  /** Values of each attribute, in the order of the probe's logits. */
  attributes: z.record(z.string(), z.array(z.string())),
  /** Signature of each kind of sound. */
  sounds: z.record(z.string(), z.array(z.number())),
});

type Prompt = z.infer<typeof prompt>;
type Judges = z.infer<typeof judges>;

interface Seen extends Prompt {
  /** What the probe found. */
  readonly found: Found["found"];
  readonly features: Float32Array;
  readonly flicker: number | undefined;
  readonly sound: string | undefined;
}

const SECONDS = 4;
/** How much of a limit each set uses: a cut evaluation is mostly of what noise must fail. */
const SETS: readonly { set: Prompt["set"]; most: (limit: number) => number }[] = [
  { set: "grammar", most: (limit) => limit },
  { set: "unseen", most: (limit) => Math.ceil(limit / 2) },
  { set: "still", most: (limit) => Math.floor(limit / 6) },
  { set: "sound", most: (limit) => Math.ceil(limit / 3) },
];

/**
 * Share of the stated attributes that a probe finds in the frames of the MP4, for prompts of the training
 * grammar and for words that it never used; distance of the probe's features to rendered clips; flicker
 * of still areas; share of sound beds that are most like their kind.
 */
export const evaluateVideo: Evaluate = async (context) => {
  const { folder, limit } = context;
  const all = await readCases([folder, "prompts.jsonl"], prompt);
  const cases = SETS.flatMap(({ set, most }) =>
    all.filter((one) => one.set === set).slice(0, most(limit)),
  );
  const known = judges.parse(JSON.parse(await readFile(join(folder, "judges.json"), "utf8")));
  const graphs = { probe: join(folder, "probe.onnx") };
  const probe = await openSessions({ graphs, threads: 1, providers: ["cpu"] });
  try {
    const seen: Seen[] = [];
    for (const one of cases) {
      seen.push(await makeAndSee(one, { context, probe, known }));
      context.progress(seen.length, cases.length);
    }
    return measuresOf(seen, known);
  } finally {
    await probe.close();
  }
};

interface Judging {
  readonly context: EvaluationContext;
  readonly probe: SessionThread;
  readonly known: Judges;
}

async function makeAndSee(one: Prompt, { context, probe, known }: Judging): Promise<Seen> {
  const made = await context.make({
    model: context.model.id,
    prompt: one.prompt,
    seconds: SECONDS,
    seed: one.seed,
    quality: one.set === "sound" ? "standard" : "fast",
  });
  const path = made.files.get("content");
  if (path === undefined) throw new Error(`no clip was made of: ${one.prompt}`);
  const frames = float32(await readSeenFrames(path, context), [
    1,
    SEEN.shares.length,
    3,
    SEEN.height,
    SEEN.width,
  ]);
  const outputs = await probe.run("probe", { frames });
  const signature = one.set === "sound" ? await readSoundSignature(path, context) : undefined;
  return {
    ...one,
    found: readLogits(floatsOf(outputs, "logits"), known.attributes),
    features: floatsOf(outputs, "features").slice(),
    flicker: one.still ? await measureFlicker(path, context) : undefined,
    sound: signature && nearest(signature, known.sounds),
  };
}

function nearest(signature: readonly number[], sounds: Judges["sounds"]): string {
  const distances = Object.entries(sounds).map(([kind, reference]) => {
    const away = reference.map((value, index) => (value - (signature[index] ?? 0)) ** 2);
    return { kind, away: mean(away) };
  });
  return distances.toSorted((a, b) => a.away - b.away)[0]?.kind ?? "";
}

function measuresOf(seen: readonly Seen[], { attributes }: Judges): Measures {
  const of = (set: Prompt["set"]) => seen.filter((one) => one.set === set);
  const shares = Object.keys(attributes).map(
    (name) => [name, shareFound(of("grammar"), name)] as const,
  );
  const unseen = ["subject", "setting", "colour"].map(
    (name) => [`unseen ${name}`, shareFound(of("unseen"), name)] as const,
  );
  const sounds = of("sound").map(({ stated, sound }) => (stated["sound"] === sound ? 1 : 0));
  const judged = [...of("grammar"), ...of("unseen")].map(({ features }) => features);
  return {
    ...Object.fromEntries([...shares, ...unseen]),
    "unheard words": shareUnheard(of("unseen")),
    frechet: rounded(distanceFromStandardNormal(judged)),
    flicker: rounded(mean(seen.flatMap(({ flicker }) => flicker ?? []))),
    sound: rounded(mean(sounds)),
  };
}
