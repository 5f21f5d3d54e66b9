import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { PipelineEvent } from "#framemill/core/events.js";
import { openEncoder } from "#framemill/media/encoder.js";
import { frameByteLength } from "#framemill/media/i420.js";
import { verifyClip } from "#framemill/media/verify-clip.js";
import type { Worker } from "#framemill/worker/worker.js";
import { startScriptedWorker } from "../../support/front-workers.js";
import { BODY, call, createJob, type Harness, startHarness } from "../../support/front-harness.js";
import { until } from "../../support/queue-harness.js";
import { countOf, noteVerdict } from "./verdicts.js";

const FAULTS = ["none", "killed", "few frames", "input ends early", "disk full"] as const;
type Fault = (typeof FAULTS)[number];
const TRIALS = FAULTS.length * countOf({ short: 3, full: 25 });
const [width, height, frameCount] = [320, 180, 96];
const FRAME = frameByteLength(width, height);
/** Less than the clip needs. */
const DISK_BYTES = 32_768;
const run = promisify(execFile);

let folder: string;
let disk: string;
let harness: Harness;
let worker: Worker;
/** What is wrong with the clip that is being made. */
let fault: Fault = "none";
let madeAt = 0;
let settle: (how: "made" | "failed") => void = () => undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-clips-"));
  disk = await makeSmallDisk();
  harness = await startHarness("pglite");
  worker = await startScriptedWorker(harness, make, ({ modality }) => modality === "video");
});
afterAll(async () => {
  await worker?.stop();
  await harness?.close();
  await run("umount", [disk]).catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
});

/** A disk of its own where this user may mount one; else ffmpeg may write no longer file. */
async function makeSmallDisk(): Promise<string> {
  const path = join(folder, "disk");
  await mkdir(path);
  await run("mount", ["-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "tmpfs", path]).catch(() =>
    writeWrapper("limited", `ulimit -f ${DISK_BYTES / 512}; exec ffmpeg "$@"`),
  );
  return path;
}

async function writeWrapper(name: string, script: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

/** The ffmpeg that a fault calls for. */
async function ffmpegOf(one: Fault): Promise<string> {
  // Eight frames reach it, then its input ends as a finished writer's would.
  const early = `case "$*" in *pipe:0*) head -c ${8 * FRAME} | ffmpeg "$@";; *) ffmpeg "$@";; esac`;
  if (one === "input ends early") return await writeWrapper("early", early);
  const limited = join(folder, "limited");
  const isLimited = one === "disk full" && (await readFile(limited).catch(() => undefined));
  return isLimited === false || isLimited === undefined ? "ffmpeg" : limited;
}

/** What the video pipeline does with its frames, with noise for frames. */
async function* make(): AsyncGenerator<PipelineEvent> {
  try {
    yield* makeClip(fault);
    settle("made");
  } catch (thrown) {
    settle("failed");
    throw thrown;
  }
}

async function* makeClip(one: Fault): AsyncGenerator<PipelineEvent> {
  const path = join(one === "disk full" ? disk : folder, "content.mp4");
  const encoder = await openEncoder({
    path,
    width,
    height,
    frameCount,
    ffmpegPath: await ffmpegOf(one),
  });
  try {
    const given = one === "few frames" ? frameCount - 1 : frameCount;
    for (let frame = 0; frame < given; frame++) {
      if (one === "killed" && frame === madeAt) await killEncoder();
      // Noise does not compress: every clip is longer than the small disk.
      await encoder.write(randomBytes(FRAME));
    }
    await encoder.finish();
  } finally {
    await encoder.abort();
  }
  await verifyClip(path, { frameCount, width, height, sound: false });
  yield { type: "file", variant: "content", path, mediaType: "video/mp4" };
  yield { type: "output", output: { frameCount } };
}

async function killEncoder(): Promise<void> {
  const { stdout } = await run("ps", ["-o", "pid=,comm=", "--ppid", String(process.pid)]);
  const pids = [...stdout.matchAll(/(\d+) ffmpeg/g)].map(([, pid]) => Number(pid));
  if (pids.length !== 1) throw new Error(`one ffmpeg must run, but: ${stdout}`);
  for (const pid of pids) process.kill(pid, "SIGKILL");
}

/** Frames of every clip that was published; undefined for what is no clip at all. */
async function inspect(id: string): Promise<"published" | "bad" | "nothing"> {
  const { key } = harness.account;
  const files = (await harness.store.list(`${id}/`)).filter((file) => file.endsWith(".mp4"));
  const { json } = await call(`${harness.front.baseUrl}/videos/${id}`, { key });
  if (files.length === 0) return json.status === "completed" ? "bad" : "nothing";
  const path = join(folder, "published.mp4");
  await writeFile(path, await harness.store.readBytes(files[0] ?? ""));
  const expectation = { frameCount, width, height, sound: false };
  return await verifyClip(path, expectation).then(
    () => "published",
    () => "bad",
  );
}

it(
  "T12: publishes whole clips, and no bad one whatever happens to ffmpeg",
  { timeout: 600_000 },
  async () => {
    const { key } = harness.account;
    const counts = { published: 0, bad: 0, nothing: 0 };
    const survived: Fault[] = [];
    for (let trial = 0; trial < TRIALS; trial++) {
      fault = FAULTS[trial % FAULTS.length] ?? "none";
      madeAt = (trial * 37) % frameCount;
      const settled = new Promise<"made" | "failed">((resolve) => (settle = resolve));
      const id = await createJob(harness.front, key, BODY);
      const how = await settled;
      const url = `${harness.front.baseUrl}/videos/${id}`;
      if (how === "made")
        await until(async () => (await call(url, { key })).json.status === "completed");
      else await call(`${url}/cancel`, { key, method: "POST" });
      counts[await inspect(id)] += 1;
      if (fault !== "none" && how === "made") survived.push(fault);
    }
    const good = TRIALS / FAULTS.length;
    await noteVerdict({
      promise: "T12",
      injected: `${TRIALS - good} clips with ffmpeg killed, frames missing, input cut or the disk full, ${good} without`,
      counted: `bad MP4 published ${counts.bad}; whole ones ${counts.published}`,
      holds: counts.bad === 0 && counts.published === good,
    });
    expect({ ...counts, survived }).toEqual({
      published: good,
      bad: 0,
      nothing: TRIALS - good,
      survived: [],
    });
  },
);
