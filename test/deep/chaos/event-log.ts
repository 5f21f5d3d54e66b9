/** What happened in a run, in the order in which the run saw it; times in milliseconds since its start. */
export type Event = { readonly atMs: number } & (
  | { readonly type: "accepted"; readonly id: string; readonly poison: boolean }
  | { readonly type: "refused"; readonly status: number }
  | {
      readonly type: "seen";
      readonly id: string;
      readonly status: string;
      readonly progress: number;
    }
  | { readonly type: "cancelled"; readonly id: string }
  | { readonly type: "fault"; readonly promise: string; readonly what: string }
  | LedgerRow
  | { readonly type: "file"; readonly key: string }
  | { readonly type: "content"; readonly id: string; readonly isRight: boolean }
);

/** A job as the ledger has it at the end. */
export interface LedgerRow {
  readonly type: "ledger";
  readonly id: string;
  readonly state: string;
  readonly token: number;
  readonly crashes: number;
  readonly preemptions: number;
  readonly quoted: number;
  /** Micro-dollars of each charge. */
  readonly charges: readonly number[];
  /** Keys of the files it says it made. */
  readonly files: readonly string[];
}

export type LogEvent = Event;
