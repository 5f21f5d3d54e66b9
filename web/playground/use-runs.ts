import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../lib/api.js";
import type { Endpoint, Values } from "./catalogue.js";
import { forgetRuns, loadRuns, saveRun } from "./history.js";
import { cancelJob, type Change, findMedia, type Run, runRequest, type Turn } from "./run.js";

/** What goes on with what came before: the run that it takes the place of, and what was said. */
export interface Continuation {
  readonly id: string;
  readonly turns: readonly Turn[];
}

/** Runs of an endpoint: those of the last day and those that are started; jobs go on where they are. */
export function useRuns(endpoint: Endpoint, key: string, onOpen: (run: Run) => void) {
  const [runs, setRuns] = useState<readonly Run[]>([]);
  const [shownId, setShownId] = useState<string>();
  const latest = useRef<readonly Run[]>([]);
  const working = useRef(new Map<string, AbortController>());
  const put = (next: readonly Run[]) => {
    latest.current = next;
    setRuns(next);
  };
  const find = (id: string | undefined) => latest.current.find((run) => run.id === id);
  const change = (id: string, by: Change) => {
    const before = find(id);
    if (before === undefined) return;
    const after: Run = { ...before, ...by };
    put(latest.current.map((run) => (run.id === id ? after : run)));
    const isNewJob = before.job === undefined && after.job !== undefined;
    if (isNewJob || by.endedAtMs !== undefined) void saveRun(key, endpoint.path, after);
  };
  const follow = (run: Run) => {
    const abort = new AbortController();
    working.current.set(run.id, abort);
    const onChange = (by: Change) => {
      if (working.current.get(run.id) === abort) change(run.id, by);
    };
    const { request, job } = run;
    void runRequest({ endpoint, key, request, job, signal: abort.signal, onChange });
  };
  const open = (run: Run | undefined) => {
    setShownId(run?.id);
    if (run !== undefined) onOpen(run);
    const { media, job } = run ?? {};
    if (run === undefined || job === undefined || media === undefined || media.url !== undefined)
      return;
    findMedia(endpoint, key, job.id).then(
      (found) => change(run.id, { media: found }),
      (thrown: unknown) => change(run.id, { error: { message: messageOf(thrown) } }),
    );
  };
  useEffect(() => {
    let isCurrent = true;
    const load = async () => {
      const kept = key === "" ? [] : await loadRuns(key, endpoint.path);
      // What was started meanwhile stays.
      if (!isCurrent || latest.current.length > 0) return;
      put(kept);
      for (const run of latest.current) if (run.state === "running") follow(run);
      open(latest.current[0]);
    };
    void load();
    return () => {
      isCurrent = false;
      const aborted = [...working.current.values()];
      working.current.clear();
      for (const abort of aborted) abort.abort();
    };
  }, []);
  const start = (request: Values, { id, turns }: Partial<Continuation> = {}) => {
    const run: Run = {
      id: id ?? `${Date.now()}-${Math.random()}`,
      state: "running",
      request,
      startedAtMs: Date.now(),
      ...(turns !== undefined && { turns }),
    };
    put([run, ...latest.current.filter((one) => one.id !== run.id)]);
    setShownId(run.id);
    follow(run);
  };
  const cancel = () => {
    const { id = "", job } = find(shownId) ?? {};
    if (job === undefined) return working.current.get(id)?.abort();
    cancelJob(endpoint, key, job.id).catch((thrown: unknown) =>
      change(id, { notice: messageOf(thrown) }),
    );
  };
  const forget = () => {
    const ended = latest.current.filter(({ state }) => state !== "running");
    void forgetRuns(ended.map(({ id }) => id));
    put(latest.current.filter(({ state }) => state === "running"));
  };
  return {
    runs,
    shown: find(shownId),
    show: (id: string) => open(find(id)),
    close: () => setShownId(undefined),
    start,
    cancel,
    forget,
  };
}
