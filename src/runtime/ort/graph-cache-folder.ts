import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";

const KEY = "framemill-graph-cache";

/** This thread and those that it starts keep optimised graphs in this folder; undefined = nowhere. */
export function useGraphCache(folder: string | undefined): void {
  setEnvironmentData(KEY, folder);
}

/** The folder that this thread was told to use. */
export function graphCacheFolder(): string | undefined {
  const folder = getEnvironmentData(KEY);
  return typeof folder === "string" ? folder : undefined;
}
