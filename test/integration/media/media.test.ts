import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdtemp, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { chooseVideoEncoder, type EncoderOptions, openEncoder } from "#framemill/media/encoder.js";
import type { Fragment } from "#framemill/media/fragments.js";
import { runFfmpeg } from "#framemill/media/ffmpeg.js";
import { frameByteLength } from "#framemill/media/i420.js";
import { measureLoudness } from "#framemill/bench/evaluation/loudness.js";
import { probeMedia } from "#framemill/media/probe.js";
import { verifyClip } from "#framemill/media/verify-clip.js";
import { writeWav } from "#framemill/media/pcm.js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../../support/queue-harness.js";

const [width, height] = [320, 180];
const frameBytes = frameByteLength(width, height);
/** One second of a real picture in motion, I420. */
let second: Uint8Array;
let folder: string;
let path: string;

beforeAll(async () => {
  const source = ["-f", "lavfi", "-i", `testsrc2=s=${width}x${height}:r=24`, "-frames:v", "24"];
  const target = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-"];
  second = (await runFfmpeg(["-v", "error", ...source, ...target])).stdout;
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill media-"));
  path = join(folder, "content.mp4");
});

afterEach(() => rm(folder, { recursive: true }));

afterAll(async () => {
  // Whatever a test did to its ffmpeg, none may be left of this process.
  const left = await ffmpegChildren();
  if (left.length > 0) throw new Error(`ffmpeg processes are left: ${left.join(", ")}`);
});

describe("encoding a clip", () => {
  it("makes 96 frames a fast-start H.264 MP4 of exactly 4 s", async () => {
    await encode({ frameCount: 96 });
    const info = await verifyClip(path, { frameCount: 96, width, height, sound: false });
    expect(info).toEqual({
      container: "mp4",
      durationSeconds: 4,
      video: {
        codec: "h264",
        width,
        height,
        pixelFormat: "yuv420p",
        frameRate: 24,
        frameCount: 96,
        durationSeconds: 4,
      },
      fastStart: true,
    });
    expect(await colourTags()).toEqual(["tv", "bt709", "bt709", "bt709"]);
  });

  it.each([
    ["as long as the clip", 4],
    ["longer than the clip", 6],
    ["shorter than the clip", 2.5],
  ])("adds AAC stereo of exactly 4 s from a sound %s", async (_, seconds) => {
    const soundPath = await writeTone(seconds);
    await encode({ frameCount: 96, soundPath });
    const info = await verifyClip(path, { frameCount: 96, width, height, sound: true });
    expect(info.audio).toMatchObject({ codec: "aac", sampleRateHz: 48_000, channels: 2 });
    expect(info.durationSeconds).toBe(4);
    expect(info.audio?.durationSeconds).toBeLessThanOrEqual(4);
    expect(info.audio?.durationSeconds).toBeGreaterThan(3.999);
  });

  it("cuts the same encoding into pieces that play by themselves, with their sound", async () => {
    const soundPath = await writeTone(4);
    await encode({ frameCount: 96, soundPath });
    const alone = await readFile(path);
    const pieces: Fragment[] = [];
    await encode({ frameCount: 96, soundPath, onFragment: (piece) => pieces.push(piece) });
    expect(alone.equals(await readFile(path))).toBe(true);
    // The picture jumps back after each second, and so begins anew there.
    expect(pieces.map(({ frames }) => frames)).toEqual([0, 24, 24, 24, 24]);
    const [head = Buffer.of(), ...played] = pieces.map(({ bytes }) => bytes);
    // Each begins with a key frame: all of its frames are read without the piece before.
    for (const bytes of played) {
      await writeFile(path, Buffer.concat([head, bytes]));
      const args = ["-v", "error", "-i", path, "-map", "0:v", "-f", "framemd5", "-"];
      const { stdout } = await runFfmpeg(args);
      const frames = Buffer.from(stdout)
        .toString()
        .split("\n")
        .filter((line) => line.startsWith("0,"));
      expect(frames).toHaveLength(24);
    }
    await writeFile(path, Buffer.concat([head, ...played]));
    expect((await probeMedia(path)).audio).toMatchObject({ codec: "aac", channels: 2 });
  });

  it("keeps the loudness of the sound", async () => {
    const soundPath = await writeTone(4);
    await encode({ frameCount: 96, soundPath });
    const [before, after] = [await measureLoudness(soundPath), await measureLoudness(path)];
    // A 997 Hz sine at -20 dBFS in both channels reads -20.0 LUFS (EBU Tech 3341, 1 kHz case; ±0.1 LU, AAC ±0.4).
    expect(Math.abs(before.integratedLufs + 20)).toBeLessThan(0.15);
    expect(Math.abs(after.integratedLufs - before.integratedLufs)).toBeLessThan(0.5);
    expect(Math.abs(before.truePeakDb + 20)).toBeLessThan(0.5);
  });

  it("gives the frames back nearly as they were", async () => {
    await encode({ frameCount: 24 });
    const args = [
      "-v",
      "error",
      "-f",
      "mp4",
      "-i",
      `file:${path}`,
      "-f",
      "rawvideo",
      "-pix_fmt",
      "yuv420p",
      "-",
    ];
    const { stdout } = await runFfmpeg(args);
    expect(stdout.byteLength).toBe(second.byteLength);
    // x264 at crf 20 keeps test pictures above 35 dB.
    expect(psnr(stdout, second)).toBeGreaterThan(35);
  });

  it("refuses more frames, and fewer, than it was opened for, and leaves no file", async () => {
    const clip = await openEncoder({ path, width, height, frameCount: 3 });
    const problem = clip.write(second.subarray(0, 4 * frameBytes));
    await expect(problem).rejects.toMatchObject({
      code: "encoder_failed",
      message: "clip must have 3 frames, got 4",
    });
    const short = await openEncoder({ path, width, height, frameCount: 3 });
    await short.write(second.subarray(0, 2 * frameBytes));
    await expect(short.finish()).rejects.toThrow("clip must have 3 frames, got 2");
    expect(await readdir(folder)).toEqual([]);
  });

  it("says encoder_failed when ffmpeg is killed half-way, and leaves neither file nor process", async () => {
    const encoder = await openEncoder({ path, width, height, frameCount: 96 });
    await encoder.write(second);
    process.kill(await ffmpegPid(), "SIGKILL");
    const rest = (async () => {
      for (let written = 24; written < 96; written += 24) await encoder.write(second);
      await encoder.finish();
    })();
    await expect(rest).rejects.toMatchObject({
      code: "encoder_failed",
      message: expect.stringContaining("SIGKILL"),
    });
    await encoder.abort();
    expect(await readdir(folder)).toEqual([]);
    expect(await ffmpegChildren()).toEqual([]);
  });

  it("says why when ffmpeg cannot write or cannot be found", async () => {
    const nowhere = join(folder, "none", "content.mp4");
    await expect(encode({ frameCount: 24, path: nowhere })).rejects.toThrow(
      /No such file or directory/,
    );
    const missing = encode({ frameCount: 24, ffmpegPath: join(folder, "no-ffmpeg") });
    await expect(missing).rejects.toMatchObject({ code: "encoder_failed" });
  });

  it("kills the whole process group on abort, what ffmpeg started included", async () => {
    const wrapper = join(folder, "wrapped ffmpeg");
    const start = `case "$*" in *pipe:0*) sleep 1000 & echo $! > '${folder}/sleeper';; esac`;
    await writeFile(wrapper, `#!/bin/sh\n${start}\nffmpeg "$@"\n`);
    await chmod(wrapper, 0o755);
    const encoder = await openEncoder({ path, width, height, frameCount: 96, ffmpegPath: wrapper });
    await encoder.write(second);
    const sleeper = Number(await readFile(join(folder, "sleeper"), "utf8"));
    expect(await isRunning(sleeper)).toBe(true);
    await encoder.abort();
    await encoder.abort();
    // A signal ends a process when it next runs.
    await expect.poll(() => isRunning(sleeper)).toBe(false);
    expect(existsSync(path)).toBe(false);
  });

  it("stops with the job: an aborted signal ends a write that hangs", async () => {
    const job = new AbortController();
    const encoder = await openEncoder({ path, width, height, frameCount: 240, signal: job.signal });
    process.kill(await ffmpegPid(), "SIGSTOP");
    const hanging = encoder.write(second);
    job.abort();
    await expect(hanging).rejects.toMatchObject({ code: "cancelled" });
    expect(await ffmpegChildren()).toEqual([]);
  });

  it("keeps the finished file when abort comes after it", async () => {
    await encode({ frameCount: 24 });
    expect(existsSync(path)).toBe(true);
  });

  it("falls back to libx264 where NVENC is listed but does not open", async () => {
    expect(["libx264", "h264_nvenc"]).toContain((await chooseVideoEncoder("ffmpeg")).name);
    expect(await chooseVideoEncoder(join(folder, "no-ffmpeg"))).toMatchObject({ name: "libx264" });
  });
});

describe("verifying a clip", () => {
  it("names everything that differs", async () => {
    await encode({ frameCount: 48 });
    const expectation = { frameCount: 96, width: 1920, height: 1080, sound: true };
    await expect(verifyClip(path, expectation)).rejects.toMatchObject({
      code: "encoder_failed",
      message:
        "clip is not as ordered: size must be 1920x1080, got 320x180; frame count must be 96, got 48; " +
        "duration must be 4.000 s, got 2.000 s; it has no sound",
    });
  });

  it("catches a file cut short, and one whose index lies at the end", async () => {
    await encode({ frameCount: 24 });
    const expectation = { frameCount: 24, width, height, sound: false };
    const slow = join(folder, "slow.mp4");
    await runFfmpeg([
      "-v",
      "error",
      "-f",
      "mp4",
      "-i",
      `file:${path}`,
      "-c",
      "copy",
      "-f",
      "mp4",
      `file:${slow}`,
    ]);
    await expect(verifyClip(slow, expectation)).rejects.toThrow("moov must come before mdat");
    const file = await open(path, "r+");
    await file.truncate(Math.floor((await file.stat()).size / 2));
    await file.close();
    await expect(verifyClip(path, expectation)).rejects.toMatchObject({ code: "encoder_failed" });
  });

  it("catches a frame that is no whole units of H.264", async () => {
    await encode({ frameCount: 24 });
    const bytes = await readFile(path);
    bytes.fill(0xff, bytes.indexOf("mdat") + 4, bytes.indexOf("mdat") + 8);
    await writeFile(path, bytes);
    await expect(verifyClip(path, { frameCount: 24, width, height, sound: false })).rejects.toThrow(
      "clip is no whole MP4: frame 0 is broken",
    );
  });

  it("sees sound where none was ordered", async () => {
    await encode({ frameCount: 24, soundPath: await writeTone(1) });
    await expect(verifyClip(path, { frameCount: 24, width, height, sound: false })).rejects.toThrow(
      "must have no sound",
    );
  });
});

describe("looking at a clip", () => {
  it("forces the demuxer by name, so a playlist called .mp4 opens nothing", async () => {
    await encode({ frameCount: 24 });
    const playlist = join(folder, "list.mp4");
    await writeFile(
      playlist,
      `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n${path}\n#EXT-X-ENDLIST\n`,
    );
    await expect(probeMedia(playlist)).rejects.toMatchObject({ code: "encoder_failed" });
    await expect(probeMedia(join(folder, "list.m3u8"))).rejects.toThrow("file name must end in");
  });
});

describe("running ffmpeg", () => {
  const endless = ["-v", "error", "-f", "lavfi", "-i", "testsrc2=s=320x180", "-f", "rawvideo", "-"];

  it("stops it at its time limit, its output limit and its signal", async () => {
    const idle = ["-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=s=64x64", "-f", "null", "-"];
    await expect(runFfmpeg(idle, { timeoutMs: 200 })).rejects.toThrow(
      "ffmpeg took more than 200 ms",
    );
    await expect(runFfmpeg(endless, { stdoutLimitBytes: 1e6 })).rejects.toThrow(
      "wrote more than 1000000 bytes",
    );
    const signal = AbortSignal.timeout(100);
    await expect(runFfmpeg(idle, { signal })).rejects.toMatchObject({ code: "cancelled" });
  });

  it("says what ffmpeg said", async () => {
    await expect(runFfmpeg(["-v", "error", "-f", "nonsense"])).rejects.toThrow(
      /^ffmpeg: exit code 1/,
    );
  });
});

async function encode(options: Partial<EncoderOptions> & { frameCount: number }): Promise<void> {
  const encoder = await openEncoder({ path, width, height, ...options });
  try {
    for (let frame = 0; frame < options.frameCount; frame += 24) await encoder.write(second);
    await encoder.finish();
  } finally {
    await encoder.abort();
  }
}

/** 997 Hz sine, -20 dBFS peak, both channels. */
async function writeTone(seconds: number): Promise<string> {
  const sampleRateHz = 48_000;
  const amplitude = 10 ** (-20 / 20);
  const angle = (2 * Math.PI * 997) / sampleRateHz;
  const samples = Float32Array.from(
    { length: seconds * sampleRateHz * 2 },
    (_, index) => amplitude * Math.sin(angle * (index % (seconds * sampleRateHz))),
  );
  const soundPath = join(folder, "sound.wav");
  await writeWav(soundPath, samples, { sampleRateHz, channels: 2 });
  return soundPath;
}

async function colourTags(): Promise<string[]> {
  const entries = "stream=color_range,color_space,color_transfer,color_primaries";
  const args = ["-v", "error", "-f", "mp4", "-show_entries", entries, "-of", "csv=p=0", path];
  const { stdout } = await runFfmpeg(args, { ffmpegPath: "ffprobe" });
  return Buffer.from(stdout).toString().trim().split(",");
}

/** The process that encodes, once it has become ffmpeg: the program that starts it goes before. */
async function ffmpegPid(): Promise<number> {
  let pid: string | undefined;
  await until(async () => {
    [pid] = await ffmpegChildren();
    return pid !== undefined;
  });
  return Number(pid);
}

/** Process ids of ffmpeg processes that are children of this one, zombies included. */
async function ffmpegChildren(): Promise<string[]> {
  const { stdout } = await promisify(execFile)("ps", [
    "-o",
    "pid=,comm=",
    "--ppid",
    String(process.pid),
  ]);
  const rows = stdout
    .trim()
    .split("\n")
    .map((row) => row.trim().split(/\s+/));
  return rows.flatMap(([pid = "", name = ""]) => (name.startsWith("ffmpeg") ? [pid] : []));
}

/** A dead process whose new parent has not collected it yet ("Z") does not run. */
async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
  return /\) [^ZX] /.test(stat);
}

function psnr(left: Uint8Array, right: Uint8Array): number {
  let sum = 0;
  for (let index = 0; index < left.length; index++)
    sum += ((left[index] ?? 0) - (right[index] ?? 0)) ** 2;
  return 10 * Math.log10(255 ** 2 / (sum / left.length));
}
