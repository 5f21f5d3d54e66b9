import type { BenchResult } from "../measure.js";
import type { Config } from "../../../src/config.js";
import { listModelPackages } from "../../../src/runtime/packages/model-package.js";
import { runnerParts } from "../../../src/bin/package-runner.js";
import { runLoad } from "./bench-load.js";
import { runAudio, runImage } from "./bench-media.js";
import type { SuiteOptions } from "./bench-options.js";
import { withPeerModels } from "./bench-peers.js";
import { runQueue } from "./bench-queue.js";
import { pipelineSetup } from "./bench-setup.js";
import { runSoak } from "./bench-soak.js";
import { withBenchFolder } from "./bench-stack.js";
import { runText } from "./bench-text.js";
import { runVideo } from "./bench-video.js";

export type Suite = (config: Config, rounds: number, options: SuiteOptions) => Promise<BenchResult>;

/** Suites that `all` leaves out: they need what this repository does not bring. */
export const ON_REQUEST: readonly string[] = ["mlperf-video"];

/** Name → how it is measured, with everything that it needs of this build. */
export const SUITES: Readonly<Record<string, Suite>> = {
  async media(config, rounds) {
    const { benchMedia } = await import("../media.js");
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
    const { benchCold } = await import("../cold.js");
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
