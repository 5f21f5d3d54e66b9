import { JobError } from "../../core/errors.js";

export interface ResidentModel<Loaded> {
  readonly id: string;
  /** What it holds while it is loaded and works, in bytes. */
  readonly byteLength: number;
  load(): Promise<Loaded>;
  unload(loaded: Loaded): Promise<void>;
}

/** Models that share a memory budget. */
export interface ResidentModels<Loaded> {
  /**
   * Loads the model where it is not, unloading those that were used longest ago where there is no room,
   * and calls `work`; a model that works is never unloaded. Rejects with what loading throws, and with
   * the signal's reason where that aborts before there is room.
   */
  use<T>(id: string, work: (loaded: Loaded) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Loads the model; nobody asked for it yet. Rejects with what loading throws. */
  prove(id: string): Promise<void>;
  /** Models that are loaded or being loaded. */
  readonly loaded: readonly string[];
}

export interface IdleOptions {
  /** Milliseconds without work after which a model is unloaded; 0 = it stays. */
  readonly idleMs: number;
  /** Called when the last model was unloaded. */
  readonly onEmpty: () => void;
}

/** A model that was only loaded to see that it can be leaves after this time without work, in milliseconds. */
const UNUSED_MS = 10_000;

/** A model that must go keeps taking work at least this long after another asked for its room, in milliseconds. */
const LEAST_PATIENCE_MS = 1_000;

type State = "absent" | "loading" | "loaded" | "leaving";

interface Entry<Loaded> {
  readonly model: ResidentModel<Loaded>;
  state: State;
  loaded: Loaded | undefined;
  /** Those that work with it, or wait for it to be loaded. */
  users: number;
  /** Position in the order of use. */
  lastUse: number;
  /** Duration of its last loading. */
  loadMs: number;
  /** Works, or has worked since it was loaded. */
  hasWorked: boolean;
  leaving: NodeJS.Timeout | undefined;
}

interface Waiter<Loaded> {
  readonly entry: Entry<Loaded>;
  readonly sinceMs: number;
  readonly resolve: (loaded: Loaded) => void;
  readonly reject: (reason: unknown) => void;
}

/** Throws where a model alone is larger than the budget. */
export function createResidentModels<Loaded>(
  models: readonly ResidentModel<Loaded>[],
  budgetBytes: number,
  idle: IdleOptions = { idleMs: 0, onEmpty: () => {} },
): ResidentModels<Loaded> {
  const tooLarge = models.find(({ byteLength }) => byteLength > budgetBytes);
  if (tooLarge !== undefined)
    throw new Error(
      `${tooLarge.id} needs ${Math.ceil(tooLarge.byteLength)} bytes, MODEL_MEMORY_BYTES allows ${Math.floor(budgetBytes)}`,
    );
  return new Residents(models, budgetBytes, idle);
}

class Residents<Loaded> implements ResidentModels<Loaded> {
  private readonly budgetBytes: number;
  private readonly entries: ReadonlyMap<string, Entry<Loaded>>;
  private readonly idle: IdleOptions;
  private waiters: readonly Waiter<Loaded>[] = [];
  private uses = 0;

  constructor(models: readonly ResidentModel<Loaded>[], budgetBytes: number, idle: IdleOptions) {
    this.budgetBytes = budgetBytes;
    this.idle = idle;
    const absent = {
      state: "absent",
      loaded: undefined,
      users: 0,
      lastUse: 0,
      loadMs: 0,
      hasWorked: false,
      leaving: undefined,
    } as const;
    this.entries = new Map(models.map((model) => [model.id, { model, ...absent }]));
  }

  get loaded(): readonly string[] {
    return [...this.entries.values()]
      .filter(({ state }) => state === "loaded" || state === "loading")
      .map(({ model }) => model.id);
  }

  async use<T>(id: string, work: (loaded: Loaded) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const entry = this.entries.get(id);
    if (entry === undefined)
      throw new JobError("model_not_found", `this worker has no model ${id}`);
    const loaded = await this.acquire(entry, signal);
    try {
      return await work(loaded);
    } finally {
      entry.users -= 1;
      entry.lastUse = this.uses += 1;
      entry.hasWorked = true;
      this.place();
      this.leaveLater(entry);
    }
  }

  async prove(id: string): Promise<void> {
    await this.use(id, () => Promise.resolve());
    const entry = this.entries.get(id);
    if (entry === undefined) return;
    entry.hasWorked = false;
    this.leaveLater(entry);
  }

  private leaveLater(entry: Entry<Loaded>): void {
    clearTimeout(entry.leaving);
    const { idleMs, onEmpty } = this.idle;
    if (idleMs === 0) return;
    const leave = async () => {
      if (entry.state !== "loaded" || entry.users > 0 || this.isWanted(entry)) return;
      await this.unload(entry);
      if (this.loaded.length === 0 && this.waiters.length === 0) onEmpty();
    };
    const waitMs = entry.hasWorked ? idleMs : Math.min(idleMs, UNUSED_MS);
    entry.leaving = setTimeout(() => void leave(), waitMs).unref();
  }

  private async acquire(entry: Entry<Loaded>, signal?: AbortSignal): Promise<Loaded> {
    signal?.throwIfAborted();
    return await new Promise((resolve, reject) => {
      const waiter = { entry, sinceMs: performance.now(), resolve, reject };
      const giveUp = () => {
        if (!this.waiters.includes(waiter)) return;
        this.waiters = this.waiters.filter((other) => other !== waiter);
        reject(signal?.reason);
        this.place();
      };
      signal?.addEventListener("abort", giveUp, { once: true });
      this.waiters = [...this.waiters, waiter];
      this.place();
    });
  }

  /** Grants what can be granted, and makes room for the first that cannot. */
  private place(): void {
    const first = this.waiters.find(
      ({ entry }) => entry.state === "absent" || entry.state === "leaving",
    );
    const mustGo = first === undefined ? [] : this.makeRoom(first);
    const granted = this.waiters.filter(
      ({ entry }) => entry.state === "loaded" && !mustGo.includes(entry),
    );
    this.waiters = this.waiters.filter((waiter) => !granted.includes(waiter));
    for (const { entry, resolve } of granted) {
      entry.users += 1;
      // A loaded entry has what was loaded: `load` sets both at once.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      resolve(entry.loaded as Loaded);
    }
  }

  /**
   * Loads the waiter's model where it fits, else unloads idle ones. Returns those that take no more work
   * until it fits, because it has waited as long as it takes to load.
   */
  private makeRoom({ entry, sinceMs }: Waiter<Loaded>): readonly Entry<Loaded>[] {
    if (entry.state !== "absent") return [];
    const missing = this.heldBytes() + entry.model.byteLength - this.budgetBytes;
    if (missing <= 0) {
      void this.load(entry);
      // The next of another model may fit beside it.
      queueMicrotask(() => this.place());
      return [];
    }
    const isLeaving = [...this.entries.values()].some(({ state }) => state === "leaving");
    const unused = this.longestUnused(missing);
    const patienceMs = Math.max(LEAST_PATIENCE_MS, entry.loadMs);
    const leftMs = patienceMs - (performance.now() - sinceMs);
    const isIdle = (other: Entry<Loaded>) => other.users === 0 && !this.isWanted(other);
    const mustGo = leftMs <= 0 ? unused : [];
    const leave = unused.filter((other) => isIdle(other) || (leftMs <= 0 && other.users === 0));
    if (!isLeaving && leave.length === unused.length)
      for (const other of leave) void this.unload(other);
    else if (leftMs > 0) setTimeout(() => this.place(), leftMs).unref();
    return mustGo;
  }

  private isWanted(entry: Entry<Loaded>): boolean {
    return this.waiters.some((waiter) => waiter.entry === entry);
  }

  private heldBytes(): number {
    return [...this.entries.values()]
      .filter(({ state }) => state !== "absent")
      .reduce((sum, { model }) => sum + model.byteLength, 0);
  }

  /** Loaded models that hold the missing bytes together: idle ones first, of them those used longest ago. */
  private longestUnused(missing: number): readonly Entry<Loaded>[] {
    const candidates = [...this.entries.values()]
      .filter(({ state }) => state === "loaded")
      .toSorted((a, b) => Number(a.users > 0) - Number(b.users > 0) || a.lastUse - b.lastUse);
    const chosen: Entry<Loaded>[] = [];
    let freed = 0;
    for (const candidate of candidates) {
      if (freed >= missing) break;
      chosen.push(candidate);
      freed += candidate.model.byteLength;
    }
    return chosen;
  }

  private async load(entry: Entry<Loaded>): Promise<void> {
    entry.state = "loading";
    const startedAt = performance.now();
    try {
      entry.loaded = await entry.model.load();
      entry.state = "loaded";
      entry.lastUse = this.uses += 1;
      entry.loadMs = performance.now() - startedAt;
    } catch (thrown) {
      entry.state = "absent";
      const failed = this.waiters.filter((waiter) => waiter.entry === entry);
      this.waiters = this.waiters.filter((waiter) => waiter.entry !== entry);
      for (const { reject } of failed) reject(thrown);
    }
    this.place();
  }

  private async unload(entry: Entry<Loaded>): Promise<void> {
    const { loaded } = entry;
    entry.state = "leaving";
    entry.loaded = undefined;
    // What does not close is as good as gone: the memory watch sees what it still holds.
    if (loaded !== undefined) await entry.model.unload(loaded).catch(() => {});
    entry.state = "absent";
    this.place();
  }
}
