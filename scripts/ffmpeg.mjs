// ffmpeg and ffprobe: the ones named, the ones in PATH, the distribution's, or the ones npm packages carry.
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { npm, readText, root } from "./packages.mjs";
import { capture } from "./processes.mjs";
import { Refusal, say, step } from "./steps.mjs";
import { findProgram, installSystemPackages, isProgram } from "./system-packages.mjs";

const cache = join(root, ".cache", "ffmpeg");
/** Static builds inside the packages themselves, no download on install. */
const CARRIERS = ["@ffmpeg-installer/ffmpeg@1.1.0", "@ffprobe-installer/ffprobe@2.1.2"];

/** @typedef {{ FFMPEG_PATH: string, FFPROBE_PATH: string }} Tools */

/** Whether neither PATH nor an earlier installation here has them. */
export function ffmpegIsMissing() {
  return ![inPath(), carried()].some(({ FFMPEG_PATH, FFPROBE_PATH }) =>
    [FFMPEG_PATH, FFPROBE_PATH].every((file) => file !== undefined && isProgram(file)),
  );
}

/** Gives the environment that names both programs, after an encode that proves them. @returns {Promise<Tools>} */
export async function findFfmpeg() {
  if (process.env["FFMPEG_PATH"] && process.env["FFPROBE_PATH"]) return mustEncode(inPath());
  if (await canEncode(inPath())) return inPath();
  if (await canEncode(carried())) return carried();
  if (ffmpegIsMissing() && (await installSystemPackages(["ffmpeg"])) && (await canEncode(inPath())))
    return inPath();
  await installCarriers();
  if (await canEncode(carried())) return carried();
  throw new Refusal(
    "No ffmpeg with libx264 and aac could be found or installed: install ffmpeg, or set FFMPEG_PATH and FFPROBE_PATH.",
  );
}

function inPath() {
  return {
    FFMPEG_PATH: process.env["FFMPEG_PATH"] || findProgram("ffmpeg"),
    FFPROBE_PATH: process.env["FFPROBE_PATH"] || findProgram("ffprobe"),
  };
}

/** The programs of the carrying npm packages. */
function carried() {
  const of = (scope, name) =>
    join(cache, "node_modules", scope, `${process.platform}-${process.arch}`, name);
  return {
    FFMPEG_PATH: of("@ffmpeg-installer", "ffmpeg"),
    FFPROBE_PATH: of("@ffprobe-installer", "ffprobe"),
  };
}

async function installCarriers() {
  await step("Installing ffmpeg from npm packages into .cache/ffmpeg", async () => {
    await mkdir(cache, { recursive: true });
    await writeFile(join(cache, "package.json"), '{ "private": true }\n');
    const sentence = "npm could not install the packages that carry ffmpeg.";
    await npm(sentence, ["install", "--prefix", cache, "--no-fund", "--no-audit", ...CARRIERS]);
    await Promise.all(Object.values(carried()).map((file) => chmod(file, 0o755).catch(() => {})));
  });
}

async function mustEncode(tools) {
  if (await canEncode(tools)) return tools;
  throw new Refusal(
    `FFMPEG_PATH=${tools.FFMPEG_PATH} and FFPROBE_PATH=${tools.FFPROBE_PATH} cannot make an MP4 of H.264 and AAC.`,
  );
}

/** Whether both programs are there and make a sound MP4; remembered until either file changes. */
async function canEncode(tools) {
  const stamp = await stampOf(tools);
  if (stamp === undefined) return false;
  const memory = join(cache, "proven");
  if ((await readText(memory)) === stamp) return true;
  if (!(await encodesMp4(tools))) {
    say(`${tools.FFMPEG_PATH} cannot encode H.264 with AAC into a faststart MP4; looking further.`);
    return false;
  }
  await mkdir(cache, { recursive: true });
  await writeFile(memory, stamp);
  return true;
}

/** Names, sizes and times of both files, or undefined when one is not there. */
async function stampOf({ FFMPEG_PATH, FFPROBE_PATH }) {
  const files = [FFMPEG_PATH, FFPROBE_PATH];
  if (files.includes(undefined)) return undefined;
  const found = await Promise.all(files.map((file) => stat(file).catch(() => undefined)));
  if (found.includes(undefined)) return undefined;
  return found.map(({ size, mtimeMs }, index) => `${files[index]} ${size} ${mtimeMs}`).join("\n");
}

/** Two frames of raw yuv420p through stdin and one tone, as the encoder does it; then probed. */
async function encodesMp4({ FFMPEG_PATH, FFPROBE_PATH }) {
  const folder = await mkdtemp(join(tmpdir(), "framemill-ffmpeg-"));
  try {
    const file = join(folder, "proof.mp4");
    const picture = "-f rawvideo -pix_fmt yuv420p -s 64x64 -r 2 -i pipe:0".split(" ");
    const sound = "-f lavfi -t 1 -i sine=440:r=48000".split(" ");
    const output = "-c:v libx264 -c:a aac -movflags +faststart -f mp4".split(" ");
    const args = ["-v", "error", "-y", ...picture, ...sound, ...output, file];
    const made = await capture(FFMPEG_PATH, args, { input: Buffer.alloc(2 * 64 * 64 * 1.5, 128) });
    if (made.code !== 0) return false;
    const probed = await capture(FFPROBE_PATH, [
      "-v",
      "error",
      "-show_entries",
      "stream=codec_name",
      file,
    ]);
    const bytes = await readFile(file);
    return /h264[^]*aac/.test(probed.output) && bytes.indexOf("moov") < bytes.indexOf("mdat");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
