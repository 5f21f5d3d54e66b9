import { unixMs } from "./time.js";

/** One stage of an attempt, in Unix milliseconds. */
export interface Stage {
  readonly stage: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** Reports of progress after the one that began it: steps, windows. */
  readonly reports: number;
}

/** Follows what an attempt is at. */
export interface StageWatch {
  /** Another stage begins, unless it is the one that runs. */
  enter(stage: string): void;
  end(): void;
}

/** The one way to time stages: metrics and traces hear of each when it is over. */
export function createStageWatch(note: (stage: Stage) => void): StageWatch {
  let current:
    | { readonly stage: string; readonly startedAtMs: number; reports: number }
    | undefined;
  const end = () => {
    if (current !== undefined) note({ ...current, endedAtMs: unixMs() });
    current = undefined;
  };
  return {
    end,
    enter(stage) {
      if (stage === current?.stage) {
        current.reports += 1;
        return;
      }
      end();
      current = { stage, startedAtMs: unixMs(), reports: 0 };
    },
  };
}
