import type { VideoRequest } from "../../../src/modalities/video/request.js";
import { TIERS } from "../../../src/modalities/video/request.js";
import { decodeFrames, decodeScene } from "../../../src/models/motion/decode-frames.js";
import { denoise, encodePrompts } from "../../../src/models/motion/denoise.js";
import type { FramePlan } from "../../../src/models/motion/canvas.js";
import type { MotionModel } from "../../../src/models/motion/model.js";

/** What every suite of video makes: four seconds of the fast tier from one seed. */
export const BENCH_REQUEST: VideoRequest = {
  model: "service-motion-1",
  prompt: "a red boat sails across the ocean at sunset",
  seconds: 4,
  quality: "fast",
  width: TIERS.fast.width,
  height: TIERS.fast.height,
  sound: false,
  seed: 1,
  negativePrompt: "",
  image: null,
  metadata: null,
};

/** The clip's graphs and nothing else: no encoder, no previews. Frames go to `take`. */
export async function runGraphs(
  model: MotionModel,
  take: (frames: Uint8Array) => void = () => {},
): Promise<void> {
  const { signal } = new AbortController();
  const request = BENCH_REQUEST;
  const { states: context } = await encodePrompts(model, request);
  const steps = denoise({ model, request, context, picture: null, signal });
  let step = await steps.next();
  while (!step.done) step = await steps.next();
  const scene = await decodeScene(model, step.value);
  const { width, height } = request;
  const frameCount = request.seconds * model.settings.shapes.frameRate;
  const plan: FramePlan = { scene, frameCount, width, height, picture: null };
  for await (const { frames } of decodeFrames(model, plan, signal)) take(frames.slice());
}
