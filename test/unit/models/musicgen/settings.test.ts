import { expect, test } from "vitest";
import { parseMusicgenSettings } from "#framemill/models/musicgen/settings.js";

/** What facebook/musicgen-stereo-small publishes, cut to what is read. */
const stereo = {
  decoder: {
    num_codebooks: 8,
    audio_channels: 2,
    vocab_size: 2048,
    pad_token_id: 2048,
    hidden_size: 1024,
    num_attention_heads: 16,
    max_position_embeddings: 2048,
  },
  audio_encoder: { sampling_rate: 32_000, upsampling_ratios: [8, 5, 4, 4], audio_channels: 1 },
};

test("reads a published configuration: 50 frames a second, windows of the 30 s it was trained on", () => {
  expect(parseMusicgenSettings(stereo, { do_sample: true, guidance_scale: 3 })).toEqual({
    codebooks: 8,
    channels: 2,
    padId: 2048,
    heads: 16,
    headSize: 64,
    sampleRateHz: 32_000,
    frameSamples: 640,
    windowFrames: 1_500,
    overlapFrames: 600,
    sampling: { guidance: 3, topK: 250, temperature: 1 },
  });
});

test("chooses greedily where the configuration does not sample, and reads null as the default", () => {
  const { sampling } = parseMusicgenSettings(stereo, { do_sample: false, guidance_scale: null });
  expect(sampling).toEqual({ guidance: 3, topK: 1, temperature: 1 });
});

test("shortens its windows to the positions the decoder has", () => {
  const short = { ...stereo, decoder: { ...stereo.decoder, max_position_embeddings: 256 } };
  // 256 columns can be fed and one more be answered: 257 = 1 + 252 frames + 4 delays.
  expect(parseMusicgenSettings(short, {}).windowFrames).toBe(252);
});

test("names the file and the field that cannot be used", () => {
  const broken = { ...stereo, decoder: { ...stereo.decoder, num_codebooks: 0 } };
  expect(() => parseMusicgenSettings(broken, {})).toThrow(/config\.json: decoder\.num_codebooks/);
});
