import { expect, test } from "vitest";
import { createWorkerMetrics } from "#framemill/worker/metrics.js";

const kind = { modality: "video", model: "service-motion-1" };

test("a worker exports its jobs, their times, and seconds of work per second of output", async () => {
  const metrics = createWorkerMetrics({
    state: () => "unready",
    obstacles: { store: "it is away" },
    running: () => 2,
    spooled: () => 1,
    inference: {
      ready: async () => {},
      run: async function* () {},
      processId: undefined,
      device: "",
      memoryBytes: async () => 700,
      providers: ["cuda", "cpu"],
      allowanceBytes: 1_000,
      close: async () => {},
    },
  });
  const stages = metrics.watchStages(kind);
  for (const stage of ["steps", "steps", "frames"]) stages.enter(stage);
  stages.end();
  metrics.completed(kind, { gpuMs: 6_000, units: { videoSeconds: 4 } });
  metrics.failed(kind, "lease_lost");
  const text = await metrics.registry.metrics();
  const labels = 'modality="video",model="service-motion-1"';
  expect(text.split("\n")).toEqual(
    expect.arrayContaining([
      "framemill_worker_jobs_running 2",
      "framemill_worker_spooled_completions 1",
      'framemill_worker_state{state="unready"} 1',
      'framemill_worker_obstacle{part="store"} 1',
      'framemill_worker_obstacle{part="machine"} 0',
      'framemill_worker_state{state="ready"} 0',
      'framemill_worker_provider{provider="cuda"} 1',
      'framemill_worker_memory_bytes{process="inference"} 700',
      "framemill_worker_memory_allowance_bytes 1000",
      `framemill_worker_stage_seconds_count{${labels},stage="steps"} 1`,
      `framemill_worker_stage_seconds_count{${labels},stage="frames"} 1`,
      `framemill_worker_compute_seconds_sum{${labels}} 6`,
      `framemill_worker_real_time_factor_sum{${labels}} 1.5`,
      `framemill_worker_attempts_total{${labels},outcome="completed"} 1`,
      `framemill_worker_attempts_total{${labels},outcome="lease_lost"} 1`,
    ]),
  );
});
