import type { PipelineEvent } from "../../core/events.js";
import type { Job } from "../../core/job.js";
import { createStageWatch } from "../../core/stages.js";
import type { Tracer } from "../../core/tracing.js";

/** The spans of one job in the inference process: the whole, and each stage. */
export interface RunTrace {
  /** The model is there, and the pipeline starts. */
  begin(): void;
  follow(event: PipelineEvent): void;
  fail(code: string): void;
  end(): void;
}

/** Until the pipeline tells of a stage, it prepares. */
const FIRST_STAGE = "preparing";

export function traceRun(tracer: Tracer, { id, model, modality, traceparent }: Job): RunTrace {
  const attributes = { "framemill.job.id": id, "framemill.model": model };
  const run = tracer.start(`generate ${modality}`, { parent: traceparent, attributes });
  const { traceparent: parent } = run;
  const stages = createStageWatch(({ stage, startedAtMs, endedAtMs, reports }) =>
    tracer
      .start(stage, { parent, startedAtMs, attributes: { "framemill.stage.steps": reports } })
      .end(endedAtMs),
  );
  let hasAnswered = false;
  stages.enter("loading the model");
  return {
    begin: () => stages.enter(FIRST_STAGE),
    follow(event) {
      if (event.type === "progress") stages.enter(event.stage);
      else if (event.type === "chunk" && !hasAnswered) {
        hasAnswered = true;
        run.note("first chunk");
      }
    },
    fail: (code) => run.fail(code),
    end() {
      stages.end();
      run.end();
    },
  };
}
