import type { Sql } from "../sql.js";
import type { OnlineLedger } from "./online.js";

/** A change of the ledger's schema, which fronts of the release before go on working with. */
export type LedgerMigration = QuickMigration | OnlineMigration;

/** Statements of one transaction that holds its locks for milliseconds: tables, columns without a rewrite. */
export type QuickMigration = readonly Sql[];

/**
 * What reads or writes the rows of a table, indexes and filling, in steps that each stand for themselves:
 * one that was interrupted is begun again from its first.
 */
export interface OnlineMigration {
  readonly online: (ledger: OnlineLedger) => Promise<void>;
  /**
   * Takes away what fronts of earlier releases need: done when it is asked for, or on a new ledger. The
   * schema's major from then on, which a front must know.
   */
  readonly contracts?: number;
}
