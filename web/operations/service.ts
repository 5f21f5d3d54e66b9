import { useCallback, useEffect, useState } from "preact/hooks";
import type { JobSummary } from "../../src/front/operations/jobs.js";
import type { Overview } from "../../src/front/operations/overview.js";
import type { WorkerSummary } from "../../src/front/ledger/workers.js";
import { callJson, messageOf, UnreachableError } from "../lib/api.js";

/** The service as the admin routes tell it. */
export interface Service {
  readonly overview: Overview;
  readonly workers: readonly WorkerSummary[];
  readonly jobs: readonly JobSummary[];
  readonly readAtMs: number;
}

/** What of the service is shown; empty: all. */
export interface Filter {
  readonly modality: string;
  /** Of the latest jobs. */
  readonly state: string;
}

/** Pause between two readings; a page that nobody sees reads nothing. */
const PAUSE_MS = 2_000;
const LATEST_JOBS = 25;

/** Reads the service again and again for as long as the key is good. */
export function useService(key: string, { modality, state }: Filter) {
  const [service, setService] = useState<Service>();
  const [problem, setProblem] = useState<unknown>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const again = () => setRound((before) => before + 1);
    const read = async () => {
      if (key === "" || document.hidden) return;
      try {
        const next = await readService(key, { modality, state }, abort.signal);
        if (abort.signal.aborted) return;
        setService(next);
        setProblem(undefined);
      } catch (thrown) {
        if (!abort.signal.aborted) setProblem(thrown);
      }
    };
    const readAndWait = async () => {
      await read();
      if (!abort.signal.aborted) timer = setTimeout(again, PAUSE_MS);
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    void readAndWait();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [key, modality, state, round]);
  const refresh = useCallback(() => setRound((before) => before + 1), []);
  const isKnown = key !== "" && service !== undefined;
  return {
    service: isKnown ? service : undefined,
    unreachable: problem instanceof UnreachableError ? problem : undefined,
    problem:
      key === "" || problem === undefined || problem instanceof UnreachableError
        ? undefined
        : messageOf(problem),
    refresh,
  };
}

async function readService(key: string, filter: Filter, signal: AbortSignal): Promise<Service> {
  const options = { key, signal };
  const asked = new URLSearchParams({ limit: String(LATEST_JOBS) });
  for (const [name, value] of Object.entries(filter)) if (value !== "") asked.set(name, value);
  const [overview, workers, jobs] = await Promise.all([
    callJson<Overview>("/admin/overview", options),
    callJson<readonly WorkerSummary[]>("/admin/workers", options),
    callJson<readonly JobSummary[]>(`/admin/jobs?${asked}`, options),
  ]);
  return { overview, workers, jobs, readAtMs: Date.now() };
}
