import { setTimeout as sleep } from "node:timers/promises";
import type { Member, Service } from "./service.js";

/** Something that goes wrong, and is put right again; resolves when it is. */
export interface Fault {
  /** The promise of reliability.md that it tries. */
  readonly promise: string;
  readonly what: string;
  inject(service: Service): Promise<void>;
}

export interface FaultTimes {
  /** How long a frozen worker sleeps: longer than its lease. */
  readonly zombieMs: number;
  readonly frontAwayMs: number;
  readonly brokerAwayMs: number;
  readonly partitionMs: number;
}

/** Picks a member; the same numbers pick the same ones. */
export type Pick = (members: readonly Member[]) => Member;

const INFERENCE_START_MS = 60_000;

export function createFaults(times: FaultTimes, pick: Pick): readonly Fault[] {
  return [
    {
      promise: "T2",
      what: "worker killed",
      inject: ({ workers }) => replace(pick(workers), "SIGKILL"),
    },
    {
      promise: "T8",
      what: "worker sent SIGTERM",
      inject: ({ workers }) => replace(pick(workers), "SIGTERM"),
    },
    {
      promise: "T3",
      what: "worker frozen beyond its lease",
      async inject({ workers }) {
        const { child } = pick(workers).running;
        child.kill("SIGSTOP");
        await sleep(times.zombieMs);
        child.kill("SIGCONT");
      },
    },
    {
      promise: "T4",
      what: "front killed and away",
      inject: ({ fronts }) => replace(pick(fronts), "SIGKILL", times.frontAwayMs),
    },
    {
      promise: "T4",
      what: "front sent SIGTERM",
      inject: ({ fronts }) => replace(pick(fronts), "SIGTERM"),
    },
    {
      promise: "T9",
      what: "broker restarted",
      async inject(service) {
        await service.control("stop_app");
        await sleep(times.brokerAwayMs);
        await service.control("start_app");
      },
    },
    {
      promise: "T10",
      what: "inference process killed",
      async inject({ workers }) {
        await killInference(pick(workers));
      },
    },
    {
      promise: "T13",
      what: "workers cut off the broker, connections reset",
      async inject({ brokerProxy }) {
        await brokerProxy.cut();
        await sleep(times.partitionMs);
        await brokerProxy.restore();
      },
    },
    {
      promise: "T13",
      what: "workers cut off the broker, packets held",
      async inject({ brokerProxy }) {
        brokerProxy.freeze();
        await sleep(times.partitionMs);
        brokerProxy.thaw();
      },
    },
  ];
}

async function replace(member: Member, signal: NodeJS.Signals, awayMs = 0): Promise<void> {
  await member.running.stop(signal);
  await sleep(awayMs);
  await member.restart();
}

/** A poisoned job may have ended the process just now: then the one that takes its place. */
async function killInference({ running }: Member): Promise<void> {
  const end = performance.now() + INFERENCE_START_MS;
  while (performance.now() < end) {
    const pids = [...running.output().matchAll(/"processId":(\d+),"loadMs"/g)];
    const pid = Number(pids.at(-1)?.[1]);
    if (pid > 0 && killed(pid)) return;
    await sleep(100);
  }
  throw new Error(`no inference process ran within ${INFERENCE_START_MS} ms`);
}

function killed(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return false;
    throw error;
  }
}
