import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../../../src/config.js";
import type { PipelineSetup } from "../../../src/core/modality.js";
import { chooseVideoEncoder, clipArguments, openEncoder } from "../../../src/media/encoder.js";
import { runFfmpeg } from "../../../src/media/ffmpeg.js";
import { openMotionModel } from "../../../src/models/motion/model.js";
import { loadModelPackage } from "../../../src/runtime/packages/model-package.js";
import { type BenchResult, compare, cpuSeconds, machine, type Pair } from "../report/measure.js";
import { pipelineSetup } from "../service/stack.js";
import { BENCH_REQUEST, runGraphs } from "./clip.js";
import { withTemporaryFolder } from "../temporary-folder.js";

/** CPU time of one encode varies by a tenth and more: this many times the rounds of other suites. */
const NOISY = 4;

/** Frames of one write, as the decoder's windows bring them. */
const FRAMES_PER_WRITE = 12;

/** Frames to MP4: our encoder against the ffmpeg command line reading the same file of raw frames. */
export async function runMedia(config: Config, rounds: number): Promise<BenchResult> {
  const setup = pipelineSetup(config);
  return await withTemporaryFolder(async (folder) => {
    const yuvPath = join(folder, "frames.yuv");
    await writeFile(yuvPath, await makeFrames(setup));
    const frames = await readFile(yuvPath);
    const pairs: Pair[] = [];
    for (let round = 0; round < rounds * NOISY; round++) {
      const ours = await cpuSeconds(() => encode(frames, join(folder, "ours.mp4"), setup));
      const against = await cpuSeconds(() => encodeFile(yuvPath, join(folder, "cli.mp4"), setup));
      pairs.push({ ours, against });
    }
    const { width, height, seconds } = BENCH_REQUEST;
    const { name } = await chooseVideoEncoder(setup.ffmpegPath);
    return {
      suite: "media",
      conditions: {
        ...machine(),
        clip: `${width}x${height}, ${seconds} s, 24 fps`,
        encoder: name,
        rounds: pairs.length,
      },
      rows: [compare({ what: "frames to MP4, CPU", unit: "CPU-s", target: 1.05 }, pairs)],
    };
  });
}

async function makeFrames(setup: PipelineSetup): Promise<Buffer> {
  const model = await openMotionModel(await loadModelPackage(setup.modelPath), setup);
  const windows: Uint8Array[] = [];
  await runGraphs(model, (frames) => windows.push(frames));
  await model.close();
  return Buffer.concat(windows);
}

const format = () => {
  const { width, height, seconds } = BENCH_REQUEST;
  return { width, height, frameRate: 24, frameCount: seconds * 24 };
};

async function encode(frames: Buffer, path: string, { ffmpegPath }: PipelineSetup): Promise<void> {
  const encoder = await openEncoder({ ...format(), path, ffmpegPath });
  const chunk = FRAMES_PER_WRITE * ((format().width * format().height * 3) / 2);
  for (let at = 0; at < frames.byteLength; at += chunk) {
    await encoder.write(frames.subarray(at, at + chunk));
  }
  await encoder.finish();
}

/** The same arguments, with the file in place of the pipe. */
async function encodeFile(
  yuvPath: string,
  path: string,
  { ffmpegPath }: PipelineSetup,
): Promise<void> {
  const encoder = await chooseVideoEncoder(ffmpegPath);
  const args = clipArguments(format(), { path }, { encoder });
  await runFfmpeg(
    args.map((arg) => (arg === "pipe:0" ? `file:${yuvPath}` : arg)),
    { ffmpegPath },
  );
}
