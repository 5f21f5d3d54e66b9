import { expect, test } from "vitest";
import { decodeCodes } from "#framemill/models/musicgen/codec.js";
import type { PieceProgress, Sound } from "#framemill/models/music/music-model.js";
import { parseMusicgenSettings } from "#framemill/models/musicgen/settings.js";
import type { Graphs } from "#framemill/runtime/ort/graphs.js";
import { stubGraphs } from "../../../support/stub-graphs.js";
import { float32 } from "#framemill/runtime/tensors/tensor.js";

const FRAME_SAMPLES = 4;

function settingsOf(codebooks: number, channels: number) {
  const decoder = {
    num_codebooks: codebooks,
    audio_channels: channels,
    vocab_size: 100,
    pad_token_id: 100,
    hidden_size: 8,
    num_attention_heads: 2,
    max_position_embeddings: 2048,
  };
  return parseMusicgenSettings(
    { decoder, audio_encoder: { sampling_rate: 200, upsampling_ratios: [2, 2] } },
    {},
  );
}

/** A codec whose samples are the codes of its first codebook; it remembers how long its inputs were. */
function stubCodec(lengths: number[]): Graphs {
  return stubGraphs({}, async (_role, feeds) => {
    const codes = feeds["audio_codes"];
    if (codes === undefined) throw new Error("audio_codes must be given");
    const [, , , frames = 0] = codes.dims;
    lengths.push(frames);
    const samples = Float32Array.from({ length: frames * FRAME_SAMPLES }, (_, index) =>
      Number(codes.data[Math.floor(index / FRAME_SAMPLES)]),
    );
    return { audio_values: float32(samples, [1, 1, samples.length]) };
  });
}

async function finish(work: AsyncGenerator<PieceProgress, Sound>) {
  const fractions: number[] = [];
  let step = await work.next();
  for (; !step.done; step = await work.next()) fractions.push(step.value.fraction);
  return { fractions, sound: step.value };
}

const { signal } = new AbortController();

test("a long piece is decoded in bounded chunks whose seams do not show", async () => {
  const frames = 25;
  const values = Int32Array.from({ length: 4 * frames }, (_, index) => index % 97);
  const lengths: number[] = [];
  const plan = { settings: settingsOf(4, 1), codes: { values, frames }, signal };
  const work = decodeCodes(stubCodec(lengths), { ...plan, chunkFrames: 10, contextFrames: 3 });
  const { fractions, sound } = await finish(work);
  expect(lengths).toEqual([13, 16, 8]);
  expect(fractions).toEqual([0.4, 0.8, 1]);
  const whole = Array.from({ length: frames * FRAME_SAMPLES }, (_, index) =>
    Math.floor(index / FRAME_SAMPLES),
  );
  expect([...sound.samples]).toEqual(whole);
});

test("a stereo model's codebooks alternate between left and right", async () => {
  // Eight rows of three frames; row r holds 10 r, 10 r + 1, 10 r + 2.
  const values = Int32Array.from(
    { length: 24 },
    (_, index) => 10 * Math.floor(index / 3) + (index % 3),
  );
  const plan = { settings: settingsOf(8, 2), codes: { values, frames: 3 }, signal };
  const { sound } = await finish(decodeCodes(stubCodec([]), plan));
  expect(sound.channels).toBe(2);
  const firstOfFrames = [...sound.samples].filter((_, index) => index % FRAME_SAMPLES === 0);
  expect(firstOfFrames).toEqual([0, 1, 2, 10, 11, 12]);
});

test("sound that is not numbers never leaves", async () => {
  const broken: Graphs = {
    ...stubCodec([]),
    run: async () => ({ audio_values: float32(new Float32Array(12).fill(Number.NaN), [1, 1, 12]) }),
  };
  const plan = {
    settings: settingsOf(4, 1),
    codes: { values: new Int32Array(12), frames: 3 },
    signal,
  };
  await expect(finish(decodeCodes(broken, plan))).rejects.toMatchObject({ code: "invalid_output" });
});
