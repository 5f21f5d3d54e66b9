import { JobError } from "../core/errors.js";
import type { Job } from "../core/job.js";

/** What a polled job that shares a worker's slots computes in. */
export interface Place {
  /** Aborts with `preempted` when a priority job needs it. */
  readonly needed: AbortSignal;
  /** Resolves when it may compute; undefined where it may at once. */
  readonly freed: Promise<unknown> | undefined;
  /** It computes no more. */
  leave(): void;
}

type PlacedJob = Pick<Job, "modality" | "serviceTier">;

interface Occupied {
  readonly job: PlacedJob;
  readonly needed: AbortController;
  readonly left: Promise<void>;
}

export interface Places {
  enter(job: PlacedJob): Place;
}

/**
 * A priority job beyond the slots takes the place of the flex job that came last, once that has left, where its
 * modality is one of `resumable`: those hand over what they have made between two steps. A flex job begins
 * when other jobs leave it a slot, those included that were taken ahead of theirs.
 */
export function createPlaces(slots: number, resumable: ReadonlySet<string>): Places {
  let occupied: readonly Occupied[] = [];
  const waiting = new Set<() => void>();
  const isFlex = ({ job }: Occupied) => job.serviceTier === "flex";
  const hasSlot = () => occupied.filter((place) => !isFlex(place)).length < slots;

  const takeFromFlex = (): Promise<unknown> | undefined => {
    const staying = occupied.filter(({ needed }) => !needed.signal.aborted);
    const beyond = staying.length - slots;
    if (beyond <= 0) return undefined;
    const flex = staying.filter((place) => isFlex(place) && resumable.has(place.job.modality));
    for (const { needed } of flex.slice(-beyond))
      needed.abort(new JobError("preempted", "a priority job takes the place"));
    const leaving = occupied.filter(({ needed }) => needed.signal.aborted);
    return leaving.length === 0 ? undefined : Promise.all(leaving.map(({ left }) => left));
  };
  const nextSlot = (): Promise<void> | undefined => {
    if (hasSlot()) return undefined;
    return new Promise((resolve) => {
      const look = () => {
        if (!hasSlot()) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
    });
  };

  return {
    enter(job) {
      let markLeft = () => {};
      const left = new Promise<void>((resolve) => (markLeft = resolve));
      const place: Occupied = { job, needed: new AbortController(), left };
      occupied = [...occupied, place];
      const freedFor = { priority: takeFromFlex, default: () => undefined, flex: nextSlot };
      return {
        needed: place.needed.signal,
        freed: freedFor[job.serviceTier ?? "default"](),
        leave() {
          occupied = occupied.filter((other) => other !== place);
          markLeft();
          for (const look of waiting) look();
        },
      };
    },
  };
}
