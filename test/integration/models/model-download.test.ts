import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { chooseFiles, downloadModel } from "#framemill/runtime/packages/model-download.js";
import { parseRepository } from "#framemill/runtime/packages/hub.js";
import { type Fault, startHub } from "../../support/hub-server.js";
import { until } from "../../support/queue-harness.js";

const WEIGHTS = Buffer.alloc(400_000, "weights ");
const FILES = new Map([
  ["config.json", Buffer.from("{}")],
  ["onnx/model.onnx", Buffer.from("graph")],
  ["onnx/model.onnx_data", WEIGHTS],
  ["onnx/model_q4.onnx", Buffer.from("small graph")],
  ["pytorch_model.bin", Buffer.from("other")],
]);
const PATIENCE = { retries: 2, firstPauseMs: 5, stallMs: 60_000 };
const HALF = WEIGHTS.byteLength / 2;
const DATA = "onnx/model.onnx_data";

let folder: string;
let hub: Awaited<ReturnType<typeof startHub>>;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "framemill-hub-"));
  hub = await startHub(FILES);
});
afterEach(async () => {
  await hub.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Wish {
  readonly signal?: AbortSignal;
  readonly token?: string;
  /** Silence after which an attempt is given up. */
  readonly stallMs?: number;
}

function download(wish: Wish = {}) {
  const { signal = new AbortController().signal, token, stallMs } = wish;
  const progress: [number, number][] = [];
  const done = downloadModel({
    hub: { baseUrl: hub.baseUrl, ...(token !== undefined && { token }) },
    repository: parseRepository("acme/tiny"),
    folder,
    signal,
    onProgress: (bytes, of) => progress.push([bytes, of]),
    patience: { ...PATIENCE, ...(stallMs !== undefined && { stallMs }) },
  });
  return { done, progress };
}

function failing(path: string, ...faults: readonly Fault[]): void {
  hub.faults.set(path, [...faults]);
}

/** A line that breaks earlier may lose what is on its way. */
async function untilHalfIsThere(): Promise<void> {
  const part = join(folder, `acme--tiny@${hub.commit.slice(0, 12)}`, `${DATA}.part`);
  await until(() => statSync(part, { throwIfNoEntry: false })?.size === HALF, 60_000);
}

async function breakOffAtHalf(): Promise<void> {
  await untilHalfIsThere();
  hub.hangUp();
}

const always = (fault: Fault): Fault[] => Array.from({ length: 20 }, () => fault);

test("downloads one form of each graph with its weights, and counts to the last byte", async () => {
  const { done, progress } = download();
  const { path, commit } = await done;
  expect(commit).toBe(hub.commit);
  expect(WEIGHTS.equals(readFileSync(join(path, DATA)))).toBe(true);
  expect(existsSync(join(path, "config.json"))).toBe(true);
  expect(existsSync(join(path, "onnx/model_q4.onnx"))).toBe(false);
  expect(existsSync(join(path, "pytorch_model.bin"))).toBe(false);
  const total = WEIGHTS.byteLength + "{}".length + "graph".length;
  expect(progress.at(-1)).toEqual([total, total]);
});

test("goes on where the line broke, as often as it breaks", async () => {
  failing(DATA, "silent");
  const { done } = download();
  await breakOffAtHalf();
  const { path } = await done;
  expect(WEIGHTS.equals(readFileSync(join(path, DATA)))).toBe(true);
  expect(hub.ranges).toEqual([`${DATA} bytes=${HALF}-`]);
});

test("goes on where an earlier run was stopped", async () => {
  failing(DATA, "silent");
  const stop = new AbortController();
  const first = download({ signal: stop.signal });
  const end = first.done.catch((error: unknown) => error);
  await untilHalfIsThere();
  stop.abort(new Error("stopped"));
  expect(await end).toMatchObject({ message: "stopped" });
  const { path } = await download().done;
  expect(WEIGHTS.equals(readFileSync(join(path, DATA)))).toBe(true);
  expect(hub.ranges).toHaveLength(1);
});

test.each(["silent", "busy", "no-ranges", "wrong-bytes"] as const)(
  "lives with a server that, after it broke off, is once %s",
  async (fault) => {
    failing(DATA, "silent", fault);
    const { done } = download({ stallMs: fault === "silent" ? 300 : 60_000 });
    if (fault !== "silent") await breakOffAtHalf();
    const { path } = await done;
    expect(WEIGHTS.equals(readFileSync(join(path, DATA)))).toBe(true);
  },
);

describe("gives up with a sentence", () => {
  test("when the bytes do not hash as the hub says, and keeps none of them", async () => {
    failing(DATA, ...always("wrong-bytes"));
    await expect(download().done).rejects.toThrow(
      /model\.onnx_data must hash to [0-9a-f]{64}, hashes to/,
    );
    const again = join(folder, `acme--tiny@${hub.commit.slice(0, 12)}`, DATA);
    expect([existsSync(again), existsSync(`${again}.part`)]).toEqual([false, false]);
  });

  test("when a small file is not the blob that git knows", async () => {
    failing("config.json", "wrong-bytes");
    await expect(download().done).rejects.toThrow(
      /config\.json must hash to [0-9a-f]{40}, hashes to/,
    );
  });

  test("at once for a file, a repository or a hub that is not there", async () => {
    failing(DATA, "missing");
    await expect(download().done).rejects.toThrow(/has no http.*model\.onnx_data/);
    const { baseUrl } = hub;
    const other = (repository: string, at = baseUrl) =>
      downloadModel({
        hub: { baseUrl: at },
        repository: parseRepository(repository),
        folder,
        signal: new AbortController().signal,
        onProgress: () => {},
      });
    await expect(other("acme/none@v2")).rejects.toThrow(`${baseUrl} has no acme/none@v2`);
    await expect(other("acme/tiny", "http://127.0.0.1:1")).rejects.toThrow(
      /does not answer: fetch failed/,
    );
    expect(() => parseRepository("../etc")).toThrow("must be owner/name");
  });

  test("when a line that brings no byte stays so", async () => {
    failing(DATA, ...always("busy"));
    await expect(download().done).rejects.toThrow(/HTTP 503/);
  });
});

test("sends the token, and says that one is missing", async () => {
  await hub.close();
  hub = await startHub(FILES, "secret");
  await expect(download().done).rejects.toThrow("set HUB_TOKEN");
  await expect(download({ token: "secret" }).done).resolves.toMatchObject({ commit: hub.commit });
});

test("chooses by form, by pattern and by what a layout reads", () => {
  const paths = [
    "config.json",
    "onnx/decoder_model.onnx",
    "onnx/decoder_model_merged.onnx",
    "onnx/decoder_model_merged_q4.onnx",
    "onnx/decoder_with_past_model.onnx",
    "onnx/encoder_model.onnx",
    "onnx/encoder_model_O4.onnx",
    "../outside.json",
    "en/voice.onnx",
    "en/voice.onnx.json",
    "cpu/genai_config.json",
    "cpu/phi.onnx",
    "cpu/phi.onnx.data",
    "model.safetensors",
    "model.safetensors.index.json",
    "kitten_tts_nano_v0_8.onnx",
    "voices.npz",
    "samples.bin",
    "onnx/vector_estimator.onnx",
    "voice_styles/F1.json",
  ];
  const choose = (options: Parameters<typeof chooseFiles>[1], tags: string[] = []) =>
    chooseFiles({ commit: "", tags, files: paths.map((path) => ({ path })) }, options).map(
      ({ path }) => path,
    );
  expect(choose({ form: "q4" })).toEqual([
    "config.json",
    "onnx/decoder_model_merged_q4.onnx",
    "onnx/encoder_model.onnx",
    "en/voice.onnx",
    "en/voice.onnx.json",
    "cpu/genai_config.json",
    "cpu/phi.onnx",
    "cpu/phi.onnx.data",
    "kitten_tts_nano_v0_8.onnx",
    "voices.npz",
    "onnx/vector_estimator.onnx",
    "voice_styles/F1.json",
  ]);
  expect(choose({ include: ["en/*"] })).toEqual(["en/voice.onnx", "en/voice.onnx.json"]);
  expect(choose({ include: ["config.json", "model*"] }, ["model2vec"])).toEqual([
    "config.json",
    "model.safetensors",
  ]);
});
