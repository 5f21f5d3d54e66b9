import { Client } from "pg";
import { join } from "node:path";
import { z } from "zod";
import type { Config } from "../../../src/config.js";
import { compare, type Pair } from "../report/measure.js";
import { findListener, openCpuMeter } from "../service/process-cpu.js";
import { withServiceApart } from "../suites/queue.js";
import { IN_FLIGHT, JOBS_PER_ROUND, benchThroughput } from "../suites/throughput.js";
import type { PeerFiles } from "./install.js";
import { type PeerRows, withLineProgram } from "./subject.js";

/** Smallest jobs against graphile-worker's jobs that do nothing, in the same Postgres. */
export async function jobRows(
  config: Config,
  { npmFolder }: PeerFiles,
  rounds: number,
): Promise<PeerRows> {
  const { databaseUrl } = config;
  if (databaseUrl === undefined)
    throw new Error("needs Postgres and RabbitMQ: leave out --embedded");
  const fsync = await askFsync(databaseUrl);
  const program = [process.execPath, join(npmFolder, "jobs.mjs")] as const;
  const postgres = await findListener(Number(new URL(databaseUrl).port));
  return await withServiceApart(config, (service) =>
    withLineProgram(
      "graphile-worker",
      [...program, databaseUrl, String(IN_FLIGHT)],
      async (peer) => {
        const cpuMs: Pair[] = [];
        const rates: Pair[] = [];
        const work = async () => {
          const meters = [await openCpuMeter(peer.processId), await openCpuMeter(postgres)];
          const seconds = await peer.ask(String(JOBS_PER_ROUND));
          const spent = await Promise.all(meters.map((meter) => meter.spentMs()));
          const all = spent.reduce((sum, ms) => sum + ms, 0);
          return { cpuMs: all / JOBS_PER_ROUND, rate: JOBS_PER_ROUND / seconds };
        };
        await work();
        for (let round = 0; round < rounds; round += 1) {
          const theirs = await work();
          const { rows, conditions } = await benchThroughput(service, 1);
          const parts = rows.filter(({ what }) => /^CPU of a job: (?!load generator)/.test(what));
          const ours = parts.reduce((sum, row) => sum + row.ours, 0);
          cpuMs.push({ ours, against: theirs.cpuMs });
          rates.push({ ours: Number(conditions["jobs a second"]), against: theirs.rate });
        }
        const at = `${IN_FLIGHT} in flight`;
        const rate = { unit: "jobs/s", target: null, better: "higher" } as const;
        return {
          conditions: { fsync },
          rows: [
            compare({ what: "no-op job, CPU ÷ graphile-worker", unit: "CPU-ms", target: 1 }, cpuMs),
            compare({ what: `no-op jobs, ${at} ÷ graphile-worker`, ...rate }, rates),
          ],
        };
      },
    ),
  );
}

async function askFsync(connectionString: string): Promise<string> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query("show fsync");
    return z.object({ fsync: z.string() }).parse(rows[0]).fsync;
  } finally {
    await client.end();
  }
}
