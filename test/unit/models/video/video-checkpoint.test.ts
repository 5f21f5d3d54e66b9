import { describe, expect, it } from "vitest";
import { decodeCheckpoint, encodeCheckpoint } from "#framemill/models/video/checkpoint.js";

const kind = { modelId: "service-motion-1", steps: 24, length: 6 };
const sample = Float32Array.from([0, -1.5, 3e-9, 1e9, 0.1, -0]);

describe("a checkpoint of denoising", () => {
  const bytes = encodeCheckpoint(kind, { step: 7, sample });

  it("comes back bit by bit", () => {
    const state = decodeCheckpoint(bytes, kind);
    expect(state?.step).toBe(7);
    const bits = new Uint32Array(state?.sample.slice().buffer ?? new ArrayBuffer(0));
    expect(bits).toEqual(new Uint32Array(sample.buffer));
  });

  it("carries what the scheduler remembers", () => {
    const memory = [sample.map((value) => value * 2), sample.map((value) => value - 1)];
    const kept = encodeCheckpoint(kind, { step: 7, sample, memory });
    expect(decodeCheckpoint(kept, kind)).toEqual({ step: 7, sample, memory });
    expect(decodeCheckpoint(kept.subarray(0, -24), kind)).toBeUndefined();
  });

  it("carries the latents of steps whose work later ones reuse", () => {
    const computed = [4, 6].map((step) => ({ step, sample: sample.map((value) => value + step) }));
    const memory = [sample.map((value) => value * 2)];
    const kept = encodeCheckpoint(kind, { step: 7, sample, memory, computed });
    expect(decodeCheckpoint(kept, kind)).toEqual({ step: 7, sample, memory, computed });
  });

  it("is of no use to another model, another number of steps, another length", () => {
    for (const other of [{ modelId: "wan" }, { steps: 25 }, { length: 7 }])
      expect(decodeCheckpoint(bytes, { ...kind, ...other })).toBeUndefined();
  });

  it("is ignored where it is cut, empty, something else, or holds no numbers", () => {
    const bad = encodeCheckpoint(kind, { step: 7, sample: sample.map(() => Number.NaN) });
    const pastTheEnd = encodeCheckpoint(kind, { step: 25, sample });
    const others = [
      bytes.subarray(0, -1),
      new Uint8Array(),
      Buffer.from("{}\nabc"),
      bad,
      pastTheEnd,
    ];
    for (const other of others) expect(decodeCheckpoint(other, kind)).toBeUndefined();
    expect(decodeCheckpoint(undefined, kind)).toBeUndefined();
  });
});
