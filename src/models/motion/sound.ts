import { join } from "node:path";
import { gaussianNoise } from "../sampling/noise.js";
import { float32, floatsOf } from "../../runtime/tensors/tensor.js";
import { writeWav } from "../../media/wav.js";
import type { ClipRequest } from "../video/family.js";
import type { MotionModel } from "./motion-model.js";

/** Keeps the sound's noise apart from the picture's, which starts at the seed itself. */
const SOUND_SEED_OFFSET = 0x50_0d;

export interface SoundInput {
  /** Text states of the prompt, then of the negative prompt. */
  readonly states: Float32Array;
  readonly scratchPath: string;
}

/** Writes the clip's stereo sound bed to a WAV file in the scratch folder; returns its path. */
export async function makeSound(
  model: MotionModel,
  request: ClipRequest,
  { states, scratchPath }: SoundInput,
): Promise<string> {
  const sampleRateHz = model.settings.shapes.sampleRateHz;
  const samples = request.seconds * sampleRateHz;
  const noise = gaussianNoise(request.seed + SOUND_SEED_OFFSET, 2 * samples);
  const outputs = await model.clip.run("sound", {
    encoder_hidden_states: float32(states.slice(0, states.length / 2), [1, 8, 48]),
    noise: float32(noise, [1, 2, samples]),
  });
  const path = join(scratchPath, "sound.wav");
  await writeWav(path, floatsOf(outputs, "waveform"), {
    channels: 2,
    sampleRateHz,
  });
  return path;
}
