import { JobError } from "../../core/errors.js";
import type { Modality } from "../../core/modality.js";
import type { Submission } from "./new-job.js";

/** Runs a job of the judging modality for the caller of `submission` and resolves to its output. */
export type RunJudge = (submission: Submission, body: unknown) => Promise<unknown>;

export interface ContentCheckOptions {
  /** The moderation model; undefined = nothing is judged. */
  readonly model: string | undefined;
  /** The modality whose models judge texts. */
  readonly judge: Modality | undefined;
  readonly run: RunJudge;
}

/** Refuses prompts that the moderation model flags, before anything of the job is queued. */
export function createContentCheck({ model, judge, run }: ContentCheckOptions) {
  return async (submission: Submission, prompts: readonly string[]): Promise<void> => {
    const texts = prompts.filter((text) => text.trim() !== "");
    if (model === undefined || judge?.judge === undefined || texts.length === 0) return;
    const flagged = judge.judge.flagged(await run(submission, judge.judge.body(model, texts)));
    if (flagged.length === 0) return;
    const message = `The prompt was blocked by the content policy: ${flagged.join(", ")}.`;
    throw new JobError("content_policy_violation", message, { param: "prompt" });
  };
}
