import { sql, type RawBuilder } from "kysely";

/** A row's amount in nano-dollars; rows of a front of before have micro-dollars only. */
export function nanoUsdOf(table: "jobs" | "charges" | "j"): RawBuilder<unknown> {
  const [nano, micro] = [`${table}.amount_nano_usd`, `${table}.amount_micro_usd`];
  return sql`coalesce(${sql.ref(nano)}, ${sql.ref(micro)} * 1000)`;
}

/** Nano-dollars as micro-dollars with their fraction: what operators are shown. */
export function inMicroUsd(nanoUsd: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(${nanoUsd} / 1000.0)::double precision`;
}
