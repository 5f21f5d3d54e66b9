import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFencing } from "#framemill/front/ledger/fencing.js";

const secret = new Uint8Array(32).fill(7);
const fencing = createFencing({ secret, acceptUnsealed: false });
const jobId = "video_1";
const claims = fc.integer({ min: 1, max: 8_191 });

describe("fencing tokens", () => {
  it("grow with every claim, are exact, and can be opened by any front", () => {
    const other = createFencing({ secret, acceptUnsealed: false });
    fc.assert(
      fc.property(claims, claims, (claim, later) => {
        const token = fencing.seal(jobId, claim);
        expect(Number.isSafeInteger(token)).toBe(true);
        expect(other.open({ jobId, token })).toBe(claim);
        const isGreater = fencing.seal(jobId, later) > token;
        // Of one claim there is one token.
        expect(isGreater).toBe(later > claim);
      }),
    );
  });

  it("hold for one job and one claim, and need the secret to be made", () => {
    const token = fencing.seal(jobId, 3);
    const stranger = createFencing({ secret: new Uint8Array(32), acceptUnsealed: false });
    expect(fencing.open({ jobId: "video_2", token })).toBeUndefined();
    expect(fencing.open({ jobId, token: stranger.seal(jobId, 3) })).toBeUndefined();
    for (const near of [token - 1, token + 1, token + 2 ** 40, token - 2 ** 40])
      expect(fencing.open({ jobId, token: near })).toBeUndefined();
  });

  it("are bare numbers during an upgrade only", () => {
    const lenient = createFencing({ secret, acceptUnsealed: true });
    expect(fencing.open({ jobId, token: 1 })).toBeUndefined();
    expect(lenient.open({ jobId, token: 1 })).toBe(1);
    expect(lenient.open({ jobId, token: 2 ** 40 + 1 })).toBeUndefined();
  });

  it("end with the numbers that are exact", () => {
    expect(() => fencing.seal(jobId, 8_192)).toThrow("at most 8191");
  });
});
