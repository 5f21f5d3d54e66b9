import { join } from "node:path";
import { z } from "zod";
import type { Config } from "../../../src/config.js";
import { type BenchRow, compare, type Pair, timed } from "../report/measure.js";
import { withTemporaryFolder } from "../temporary-folder.js";
import { type PeerFiles, peerProgram } from "./install.js";
import {
  cpuMsOf,
  FRAMEMILL,
  type LineProgram,
  type Subject,
  tell,
  withFramemill,
  withLineProgram,
} from "./subject.js";

const MODEL = "service-motion-1";
const PROMPT = "a lighthouse on a cliff at dusk";
const SEED = 7;

const CLIPS = [
  { name: "clip of 4 s, 720p", tier: "fast", seconds: 4 },
  { name: "clip of 10 s, 1080p with sound", tier: "high", seconds: 10 },
] as const;

type Clip = (typeof CLIPS)[number];

/** POST to downloaded file, waited for in one request, against a script on the same graphs, with the same seed and x264 settings. */
export async function clipRows(
  config: Config,
  { python }: PeerFiles,
  rounds: number,
): Promise<BenchRow[]> {
  const { threads, ffmpegPath, modelsDir } = config;
  return await withTemporaryFolder(async (folder) => {
    const files = [join(modelsDir, MODEL), join(folder, "clip.mp4")];
    const command = [peerProgram("clip.py"), ...files, String(threads), ffmpegPath];
    return await withFramemill(config, { models: [MODEL] }, (ours) =>
      withLineProgram("the clip in Python", [python, ...command], async (theirs) => {
        const rows: BenchRow[] = [];
        for (const clip of CLIPS) rows.push(...(await compareClips(ours, theirs, clip, rounds)));
        return rows;
      }),
    );
  });
}

async function compareClips(ours: Subject, theirs: LineProgram, clip: Clip, rounds: number) {
  const seconds: Pair[] = [];
  const cpuMs: Pair[] = [];
  const { name, ...line } = clip;
  const asked = JSON.stringify({ ...line, prompt: PROMPT, seed: SEED });
  for (let round = 0; round <= rounds; round += 1) {
    const made = await measured(ours.processId, () => makeClip(ours, clip));
    const peer = await measured(theirs.processId, () => theirs.ask(asked));
    tell(FRAMEMILL, made);
    tell("Python", peer);
    if (round === 0) continue;
    seconds.push({ ours: made.seconds, against: peer.seconds });
    cpuMs.push({ ours: made.cpuMs, against: peer.cpuMs });
  }
  return [
    compare({ what: `${name} ÷ Python`, unit: "s", target: 0.95 }, seconds),
    compare({ what: `${name}, CPU ÷ Python`, unit: "CPU-ms", target: null }, cpuMs),
  ];
}

async function measured(processId: number, run: () => Promise<unknown>) {
  let seconds = Number.NaN;
  const cpuMs = await cpuMsOf(processId, async () => ({ seconds } = await timed(run)));
  return { seconds, cpuMs };
}

const video = z.object({ id: z.string(), status: z.string() });

async function makeClip({ baseUrl, apiKey }: Subject, { tier, seconds }: Clip): Promise<void> {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const request = { model: MODEL, prompt: PROMPT, seconds, quality: tier, seed: SEED };
  const body = JSON.stringify(request);
  const read = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(baseUrl + path, { headers, ...init });
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
    return response;
  };
  let clip = video.parse(await (await read("/videos", { method: "POST", body })).json());
  while (clip.status !== "completed") {
    if (clip.status === "failed") throw new Error(`the clip ${clip.id} failed`);
    clip = video.parse(await (await read(`/videos/${clip.id}?wait=60`)).json());
  }
  await (await read(`/videos/${clip.id}/content`)).arrayBuffer();
}
