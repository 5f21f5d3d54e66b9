import { z } from "zod";
import { defineModality } from "#framemill/core/modality.js";

const body = z.strictObject({
  model: z.string(),
  seed: z.int().min(0).max(1_000_000),
  steps: z.int().min(1).max(1_000),
  /** Milliseconds a step takes besides its graph. */
  step_ms: z.int().min(0).max(10_000),
  /** What goes wrong in mid-job, at every attempt or once. */
  does: z.enum(["work", "crash", "hang", "grow", "nan", "lose-device"]).default("work"),
  once: z.boolean().default(false),
});

const workloadRequest = z.object({
  seed: z.int(),
  steps: z.int(),
  stepMs: z.int(),
  does: body.shape.does.unwrap(),
  once: z.boolean(),
});
export type WorkloadRequest = z.infer<typeof workloadRequest>;

const workloadOutput = z.object({ steps: z.int() });
export type WorkloadOutput = z.infer<typeof workloadOutput>;

const object = z.object({
  id: z.string(),
  object: z.literal("workload"),
  status: z.string(),
  progress: z.number(),
});

/** A polled job as a clip is one, seconds long and cheap: a tiny graph, run step by step. */
export const workload = defineModality<"workload", WorkloadRequest, WorkloadOutput>({
  name: "workload",
  endpoint: {
    path: "/v1/workloads",
    delivery: "poll",
    object: "workload",
    idPrefix: "workload_",
    variants: [],
  },
  example: () => ({ seed: 1, steps: 1, step_ms: 0 }),
  schemas: { request: workloadRequest, output: workloadOutput },
  requestSchema: () => z.toJSONSchema(body, { io: "input" }),
  responseSchema: () => z.toJSONSchema(object),
  async admit(sent) {
    const { seed, steps, step_ms: stepMs, does, once } = body.parse(sent);
    return { seed, steps, stepMs, does, once };
  },
  prices: { videoSeconds: 100 },
  mostUnits: ({ steps }) => ({ videoSeconds: steps }),
  countUnits: (_request, { steps }) => ({ videoSeconds: steps }),
  render: ({ id, state, progress, failure }) => ({
    id,
    object: "workload",
    status: state,
    progress,
    error: failure,
  }),
  loadPipeline: async () => (await import("./pipeline.js")).createWorkloadPipeline,
});
