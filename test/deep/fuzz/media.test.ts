import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodeAudio } from "#framemill/media/decode-audio.js";
import { readImage } from "#framemill/media/image.js";
import { pictureSamples, type Sample, soundSamples } from "./media-samples.js";
import { type Edit, edits, mutate } from "./mutate.js";
import { campaign } from "./run.js";

interface MediaCase {
  readonly sample: number;
  readonly edits: readonly Edit[];
}

const cases: fc.Arbitrary<MediaCase> = fc.record({ sample: fc.nat(100), edits });
const REFUSALS = ["invalid_image_format", "image_parse_error", "image_too_large", "invalid_value"];

function mutated(samples: readonly Sample[], { sample, edits: changes }: MediaCase): Buffer {
  const chosen = samples[sample % samples.length];
  if (chosen === undefined) throw new Error("no samples");
  return mutate(chosen.bytes, changes);
}

/** Undefined for what was taken, else the code it was refused with. */
async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (thrown: unknown) =>
      typeof thrown === "object" && thrown !== null && "code" in thrown ? thrown.code : thrown,
  );
}

describe("damaged uploads", { timeout: 600_000 }, () => {
  let folder: string;
  beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "framemill-fuzz-"))));
  afterAll(() => rm(folder, { recursive: true }));

  it("are pictures, or refused as the caller's fault", async () => {
    const samples = await pictureSamples();
    await campaign({
      cases,
      count: { short: 80, full: 1_500 },
      check: async (one) => {
        const code = await codeOf(readImage(mutated(samples, one), { param: "image" }));
        expect([undefined, ...REFUSALS]).toContain(code);
      },
    });
  });

  it("are sounds, or refused as the caller's fault", async () => {
    const samples = await soundSamples();
    const path = join(folder, "sound.pcm");
    const { signal } = new AbortController();
    await campaign({
      cases,
      count: { short: 40, full: 1_000 },
      check: async (one) => {
        const decode = { path, sampleRateHz: 16_000, maxSeconds: 60, signal, param: "file" };
        const code = await codeOf(decodeAudio(mutated(samples, one), decode));
        expect([undefined, "invalid_value"]).toContain(code);
      },
    });
  });
});
