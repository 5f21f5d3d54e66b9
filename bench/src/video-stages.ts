import type { GraphRun } from "../../src/core/modality.js";
import { coveredMs } from "./graph-runs.js";
import { type Distribution, distribute } from "./measure.js";

/** A run of a graph, and when its numbers were back in the pipeline, in Unix milliseconds. */
export interface ReceivedRun extends GraphRun {
  readonly receivedAtMs: number;
}

/** Where the time of one clip went. */
export interface ClipStages {
  /** Opening the model's graphs. */
  readonly loadSeconds: number;
  readonly runs: readonly ReceivedRun[];
  /** From the last frame's end to the finished file. */
  readonly tailSeconds: number;
  readonly totalSeconds: number;
}

const PREPARING = new Set(["text-encoder"]);
const DENOISING = new Set(["denoiser", "sampler", "sampler-step"]);
const isDecoder = (role: string) => role.endsWith("-decoder");

/** How each stage is spread over the clips; stages overlap, so they do not add up to the whole. */
export function stageDistributions(clips: readonly ClipStages[]): Distribution[] {
  const stage = (what: string, ms: (clip: ClipStages) => number) =>
    distribute({ what, unit: "ms" }, clips.map(ms));
  const covered = (what: string, isPart: (role: string) => boolean) =>
    stage(what, ({ runs }) => coveredMs(runs.filter(({ role }) => isPart(role))));
  return [
    stage("load", ({ loadSeconds }) => loadSeconds * 1_000),
    covered("text encoder", (role) => PREPARING.has(role)),
    covered("denoise", (role) => DENOISING.has(role)),
    covered("decode", isDecoder),
    stage("device to host: a run's end to its numbers' arrival, all runs of a clip", ({ runs }) =>
      runs.reduce((sum, run) => sum + (run.receivedAtMs - run.endedAtMs), 0),
    ),
    stage("mux tail", ({ tailSeconds }) => tailSeconds * 1_000),
    stage("clip, without a queue", ({ totalSeconds }) => totalSeconds * 1_000),
  ];
}
