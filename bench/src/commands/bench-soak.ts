import { join } from "node:path";
import { z } from "zod";
import type { BenchResult } from "../measure.js";
import { benchSoak } from "../soak.js";
import type { Config } from "../../../src/config.js";
import { listModelPackages } from "../../../src/runtime/packages/model-package.js";
import { startServiceProcesses } from "../service-processes.js";
import { withBenchFolder } from "./bench-stack.js";

const JOBS = 200;
const QUICK_JOBS = 60;
/** Full before anything is counted: what chat models remember grows to a limit by design. */
const PROMPT_CACHE_BYTES = 2 ** 20;

const ledgerTimes = z.array(
  z.object({
    modality: z.string(),
    state: z.string(),
    gpuMs: z.number(),
    startedAt: z.string().nullable(),
    endedAt: z.string().nullable(),
  }),
);

/** A service of the configuration in processes and a folder of its own. */
export async function runSoak(
  config: Config,
  { quick = false }: { readonly quick?: boolean | undefined },
): Promise<BenchResult> {
  const packages = await listModelPackages(config.modelsDir);
  return await withBenchFolder(config, async (own) => {
    const scratchDir = join(own.dataDir, "scratch");
    const service = await startServiceProcesses({
      ...own,
      scratchDir,
      promptCacheBytes: PROMPT_CACHE_BYTES,
    });
    try {
      const subject = {
        ...service.endpoint,
        parts: service.parts,
        modelOf: (modality: string) => packages.find((it) => it.modality === modality)?.id,
        processIds: service.processIds,
        listJobs: async () => ledgerTimes.parse(await service.admin("/jobs?limit=1000")),
      };
      return await benchSoak(subject, quick ? QUICK_JOBS : JOBS);
    } finally {
      await service.close();
    }
  });
}
