import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { correlate } from "../../support/compare-sounds.js";
import { describeWithModels, publishedModel } from "../../support/published-models.js";
import { openSound } from "../../support/transcriber.js";

async function decode(name: string): Promise<Float32Array> {
  const pcm = await openSound(readFileSync(publishedModel("asr-fixtures", name)));
  const samples = await pcm.read(0, pcm.sampleCount);
  await pcm.close();
  return samples;
}

describeWithModels("decoding real speech", () => {
  test("gives the same signal from wav and mp3, and mixes stereo at 44.1 kHz down", async () => {
    const wav = await decode("1272-141231-0002.wav");
    const { correlation, decibels } = correlate(await decode("1272-141231-0002.mp3"), wav);
    expect(correlation).toBeGreaterThan(0.95);
    expect(Math.abs(decibels)).toBeLessThan(0.2);
    expect((await decode("jfk.flac")).length).toBe(11 * 16_000);
  });
});
