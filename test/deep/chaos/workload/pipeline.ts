import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { JobError } from "#framemill/core/errors.js";
import type { Pipeline, PipelineSetup } from "#framemill/core/modality.js";
import { graphPaths, loadModelPackage } from "#framemill/runtime/packages/model-package.js";
import { openGraphs } from "#framemill/runtime/ort/graphs.js";
import { float32, floatsOf } from "#framemill/runtime/tensors/tensor.js";
import type { WorkloadOutput, WorkloadRequest } from "./index.js";

interface State {
  readonly step: number;
  readonly value: number;
}

/** Printed at every step, so that what is done twice can be counted. */
export const STEP_DONE = "workload step done\n";

const grown: Buffer[] = [];

/** y = -x on the graph, then half of it and the seed, in float32: whoever repeats it gets the same bytes. */
export async function createWorkloadPipeline(
  setup: PipelineSetup,
): Promise<Pipeline<WorkloadRequest, WorkloadOutput>> {
  const model = await loadModelPackage(setup.modelPath);
  const sessions = await openGraphs({
    graphs: graphPaths(model, ["negate"]),
    threads: 1,
    providers: ["cpu"],
  });
  return {
    async *run(request, { signal, preempted, checkpoint, scratchPath }) {
      let { step, value } = start(checkpoint);
      while (step < request.steps) {
        signal.throwIfAborted();
        const x = float32(Float32Array.of(value, value), [1, 2]);
        const [y = Number.NaN] = floatsOf(await sessions.run("negate", { x }), "y");
        value = Math.fround(Math.fround(y * 0.5) + request.seed);
        await sleep(request.stepMs, undefined, { signal });
        step += 1;
        process.stderr.write(STEP_DONE);
        const isDue = step * 2 >= request.steps && request.does !== "work";
        if (isDue && (!request.once || (await isFirst(setup.modelPath, request.seed))))
          value = await goWrong(request.does, value);
        yield { type: "progress", stage: "steps", fraction: step / request.steps };
        if (preempted?.aborted === true && step < request.steps) {
          const path = join(scratchPath, "checkpoint.bin");
          await writeFile(path, JSON.stringify({ step, value }));
          yield { type: "checkpoint", path };
          throw new JobError("preempted", `left after step ${step}`);
        }
      }
      if (!Number.isFinite(value))
        throw new JobError("invalid_output", "the value is not a number");
      const path = join(scratchPath, "content.json");
      await writeFile(path, JSON.stringify({ value }));
      yield { type: "file", variant: "content", path, mediaType: "application/json" };
      yield { type: "output", output: { steps: request.steps } };
    },
    close: () => sessions.close(),
  };
}

function start(checkpoint: Uint8Array | undefined): State {
  if (checkpoint === undefined) return { step: 0, value: 0 };
  return JSON.parse(Buffer.from(checkpoint).toString()) as State;
}

/** Whether this is the first time that the job goes wrong: a note beside the model, which all workers see. */
async function isFirst(modelPath: string, seed: number): Promise<boolean> {
  const noting = writeFile(join(modelPath, `wrong-${seed}`), "", { flag: "wx" });
  return await noting.then(
    () => true,
    () => false,
  );
}

async function goWrong(does: WorkloadRequest["does"], value: number): Promise<number> {
  if (does === "crash") process.kill(process.pid, "SIGSEGV");
  if (does === "hang") for (;;);
  if (does === "lose-device") throw new JobError("device_lost", "CUDA failure 719");
  if (does === "grow") {
    for (;;) {
      grown.push(Buffer.alloc(50_000_000, 1));
      await sleep(5);
    }
  }
  return does === "nan" ? Number.NaN : value;
}

/** What a job that went well made. */
export function expectedValue(seed: number, steps: number): number {
  let value = 0;
  for (let step = 0; step < steps; step += 1) value = Math.fround(Math.fround(-value * 0.5) + seed);
  return value;
}
