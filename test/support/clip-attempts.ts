import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { JobError, toJobError } from "#framemill/core/errors.js";
import type { PipelineEvent } from "#framemill/core/events.js";
import type { Pipeline } from "#framemill/core/modality.js";
import type { VideoOutput, VideoRequest } from "#framemill/modalities/video/request.js";

export type VideoPipeline = Pipeline<VideoRequest, VideoOutput>;

interface Attempt {
  /** Steps that were done in it. */
  readonly steps: number;
  /** Made, or the code of what ended it. */
  readonly end: string;
  /** Paths by variant, and of the checkpoint. */
  readonly files: ReadonlyMap<string, string>;
}

interface AttemptInput {
  readonly request: VideoRequest;
  /** Folder for the attempt's own. */
  readonly root: string;
  readonly picture?: Uint8Array;
  readonly checkpoint?: Uint8Array;
  /** Is aborted once so many steps are done, to leave or to cancel. */
  readonly leavesAfter?: number;
  readonly cancelledAfter?: number;
}

/** One attempt at a clip, as a worker makes it. */
export async function attempt(by: VideoPipeline, input: AttemptInput): Promise<Attempt> {
  const { request, root, picture, checkpoint } = input;
  const { leavesAfter = Infinity, cancelledAfter = Infinity } = input;
  const scratchPath = await mkdtemp(join(root, "attempt-"));
  const [leaving, cancelling] = [new AbortController(), new AbortController()];
  const context = {
    scratchPath,
    signal: cancelling.signal,
    preempted: leaving.signal,
    readInput: async () => picture ?? Promise.reject(new Error("no input")),
    ...(checkpoint && { checkpoint }),
  };
  const files = new Map<string, string>();
  // The first report says where it begins.
  let steps = -1;
  const follow = (event: PipelineEvent<VideoOutput>) => {
    if (event.type === "file") files.set(event.variant, event.path);
    if (event.type === "checkpoint") files.set("checkpoint", event.path);
    steps += Number(event.type === "progress" && event.stage === "steps");
    if (steps >= leavesAfter) leaving.abort();
    if (steps >= cancelledAfter) cancelling.abort(new JobError("cancelled", "nobody waits for it"));
  };
  const all = async () => {
    for await (const event of by.run(request, context)) follow(event);
    return "made";
  };
  const end = await all().catch((thrown: unknown) => toJobError(thrown).code);
  return { steps, end, files };
}
