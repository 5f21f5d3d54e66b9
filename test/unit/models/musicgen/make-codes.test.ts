import { expect, test } from "vitest";
import { makeCodes } from "#framemill/models/musicgen/make-codes.js";
import { parseMusicgenSettings } from "#framemill/models/musicgen/settings.js";
import type { Graphs } from "#framemill/runtime/ort/graphs.js";
import { openValues } from "#framemill/runtime/ort/value.js";
import { stubGraphs } from "../../../support/stub-graphs.js";
import { float32, int64Of } from "#framemill/runtime/tensors/tensor.js";

const PAD = 9;
const CODES = 9;

/** Two codebooks and room for 6 frames in a window: 1 + 6 + 2 − 1 columns are fed. */
const settings = parseMusicgenSettings(
  {
    decoder: {
      num_codebooks: 2,
      vocab_size: CODES,
      pad_token_id: PAD,
      hidden_size: 4,
      num_attention_heads: 1,
      max_position_embeddings: 8,
    },
    audio_encoder: { sampling_rate: 100, upsampling_ratios: [2] },
  },
  { guidance_scale: 1 },
);

const text = {
  batch: 1,
  states: float32(new Float32Array(4), [1, 1, 4]),
  mask: int64Of([1], [1, 1]),
};

interface Fed {
  readonly role: string;
  /** [codebooks][columns]. */
  readonly rows: number[][];
}

function stubDecoder(fed: Fed[]): Graphs {
  const present = { name: "present.0.decoder.key", type: "float32", dims: [1, 1, 1, 4] } as const;
  const info = { decoder: { inputs: [], outputs: [present] } };
  return stubGraphs(info, async (role, feeds) => {
    const ids = feeds["input_ids"];
    if (ids === undefined) throw new Error("input_ids must be given");
    const [rows = 0, columns = 0] = ids.dims;
    const flat = Array.from(ids.data, Number);
    fed.push({
      role,
      rows: Array.from({ length: rows }, (_, row) =>
        flat.slice(row * columns, (row + 1) * columns),
      ),
    });
    const logits = new Float32Array(rows * columns * CODES);
    return { logits: float32(logits, [rows, columns, CODES]) };
  });
}

function makePiece(frames: number, fed: Fed[]) {
  let drawn = 0;
  // The n-th code drawn is n modulo 9.
  const sampler = { sample: () => drawn++ % CODES };
  const { signal } = new AbortController();
  return makeCodes(stubDecoder(fed), { settings, text, frames, sampler, signal });
}

async function codesOf(work: ReturnType<typeof makePiece>) {
  const fractions: number[] = [];
  let step = await work.next();
  for (; !step.done; step = await work.next()) fractions.push(step.value.fraction);
  return { fractions, codes: [...step.value.values] };
}

test("feeds one column after another, padded where a codebook has not begun or has ended", async () => {
  const fed: Fed[] = [];
  const { fractions, codes } = await codesOf(makePiece(2, fed));
  expect(fed.map(({ role }) => role)).toEqual([
    "decoder",
    "decoder-with-past",
    "decoder-with-past",
  ]);
  expect(fed.map(({ rows }) => rows)).toEqual([
    [[PAD], [PAD]],
    [[0], [PAD]],
    [[1], [2]],
  ]);
  expect(codes).toEqual([0, 1, 2, 3]);
  expect(fractions).toEqual([1 / 3, 2 / 3, 1]);
});

test("a piece longer than a window goes on from its last frames and changes none of them", async () => {
  const fed: Fed[] = [];
  const before = openValues();
  const { fractions, codes } = await codesOf(makePiece(9, fed));
  expect(settings).toMatchObject({ windowFrames: 6, overlapFrames: 2 });
  const second = fed.findLastIndex(({ role }) => role === "decoder");
  // The second window begins at frame 4: frames 4 and 5 are known, each row as late as ever.
  expect(fed[second]?.rows).toEqual([
    [PAD, codes[4], codes[5]],
    [PAD, PAD, codes[9 + 4]],
  ]);
  expect(fed[second + 1]?.rows).toEqual([[codes[6]], [codes[9 + 5]]]);
  expect(fractions.at(-1)).toBe(1);
  expect(openValues() - before).toBe(0);
});

test("frees the decoder's caches when nobody listens any more", async () => {
  const before = openValues();
  const work = makePiece(5, []);
  await work.next();
  expect(openValues() - before).toBeGreaterThan(0);
  await work.return({ values: new Int32Array(0), frames: 0 });
  expect(openValues() - before).toBe(0);
});
