import type { BenchResult } from "../../bench/measure.js";
import type { Config } from "../../config.js";
import { createOperations } from "../../front/operations.js";
import { listModelPackages } from "../../inference/model-package.js";
import { runnerParts } from "../package-runner.js";
import { runLoad } from "./bench-load.js";
import { runAudio, runImage } from "./bench-media.js";
import type { SuiteOptions } from "./bench-options.js";
import { withPeerModels } from "./bench-peers.js";
import { pipelineSetup } from "./bench-setup.js";
import { runSoak } from "./bench-soak.js";
import { partsOf, withBenchFolder, withBenchStack } from "./bench-stack.js";
import { runText } from "./bench-text.js";
import { runVideo } from "./bench-video.js";

export type Suite = (config: Config, rounds: number, options: SuiteOptions) => Promise<BenchResult>;

/** Suites that `all` leaves out: they need what this repository does not bring. */
export const ON_REQUEST: readonly string[] = ["mlperf-video"];

/** Name → how it is measured, with everything that it needs of this build. */
export const SUITES: Readonly<Record<string, Suite>> = {
  async media(config, rounds) {
    const { benchMedia } = await import("../../bench/media.js");
    return benchMedia(pipelineSetup(config), rounds);
  },
  video: (config, rounds, options) => runVideo(pipelineSetup(config), { config, rounds, options }),
  text: (config, rounds, { peerModels }) =>
    withPeerModels(config, peerModels, (own) => runText(own, rounds)),
  queue: runQueue,
  load: runLoad,
  async "mlperf-video"(config, rounds, options) {
    const { runMlperfVideo } = await import("./bench-mlperf-video.js");
    return runMlperfVideo(config, rounds, options);
  },
  async cold(config, rounds) {
    const { benchCold } = await import("../../bench/cold.js");
    const { openInference } = runnerParts(config);
    const packages = await listModelPackages(config.modelsDir);
    const { threads } = config;
    return await withBenchFolder(config, ({ dataDir: folder }) =>
      benchCold({ packages, threads, openInference, folder }, rounds),
    );
  },
  image: (config, rounds, { dollarsPerHour }) => runImage(config, { rounds, dollarsPerHour }),
  audio: (config, rounds, { dollarsPerHour }) => runAudio(config, { rounds, dollarsPerHour }),
  soak: (config, _rounds, { quick }) => runSoak(config, { quick }),
};

/** The smallest model of the repository whose jobs run beside each other. */
const SMALLEST_MODEL = "service-embed-1";

/** Waits of a lone clip in one process, then the rate of the smallest jobs in processes apart. */
async function runQueue(config: Config, rounds: number): Promise<BenchResult> {
  const waits = await runWaits(config, rounds);
  if (config.amqpUrl === undefined || config.databaseUrl === undefined) return waits;
  const { benchThroughput } = await import("../../bench/throughput.js");
  const { withApartService } = await import("../apart-service.js");
  const rate = await withBenchFolder(config, (own) =>
    withApartService(own, SMALLEST_MODEL, (service) => benchThroughput(service, rounds)),
  );
  return {
    ...waits,
    conditions: { ...waits.conditions, ...rate.conditions },
    rows: [...waits.rows, ...rate.rows],
    distributions: [...(waits.distributions ?? []), ...rate.distributions],
  };
}

async function runWaits(config: Config, rounds: number): Promise<BenchResult> {
  const { benchQueue } = await import("../../bench/queue.js");
  return await withBenchStack(config, async (stack) => {
    const { endpoint, front, worker } = stack;
    const operations = createOperations(front.database, front.keys);
    return await benchQueue(
      {
        ...endpoint,
        parts: partsOf(config, stack),
        isIdle: () => worker.state === "ready",
        findTimes: async (id) => (await operations.listJobs(10)).find((job) => job.id === id),
      },
      rounds,
    );
  });
}
