// What the tests of a run noted, and the table at the end of `npm run chaos`: what each promise came to.
import { join } from "node:path";
import { rm } from "node:fs/promises";
import { readText } from "./packages.mjs";

/** @typedef {{ promise: string, injected: string, counted: string, holds: boolean }} Verdict */

/** Of docs/operations/failures.md. */
export const PROMISES = Array.from({ length: 38 }, (_, index) => `T${index + 1}`);
const FILE = "verdicts.jsonl";

/** Forgets the run before. @param {string} folder */
export async function forgetVerdicts(folder) {
  await rm(join(folder, FILE), { force: true });
}

/** What a run noted, in the order of the notes. @param {string} folder */
export async function readVerdicts(folder) {
  const text = (await readText(join(folder, FILE))) ?? "";
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

/**
 * Prints the table of a run; false where a promise is broken or was to be tried and was not.
 * @param {string} folder @param {readonly string[]} wanted promises that must be there
 */
export async function printVerdicts(folder, wanted) {
  const { table, isGood } = closingTable(await readVerdicts(folder), wanted);
  process.stdout.write(`\n${table}\n`);
  return isGood;
}

/**
 * A row a verdict, in the order of the promises; one that nobody gave a verdict of is `missing`.
 * @param {readonly Verdict[]} verdicts @param {readonly string[]} wanted promises that must be there
 */
export function closingTable(verdicts, wanted) {
  const given = verdicts.map(({ promise, injected, counted, holds }) => [
    promise,
    injected,
    counted,
    holds ? "holds" : "BROKEN",
  ]);
  const missing = wanted
    .filter((promise) => !verdicts.some((verdict) => verdict.promise === promise))
    .map((promise) => [promise, "", "", "MISSING"]);
  const rows = [...given, ...missing].toSorted(([one], [other]) => numberOf(one) - numberOf(other));
  const isGood = rows.length > 0 && rows.every(([, , , verdict]) => verdict === "holds");
  return { table: aligned([["promise", "injected", "counted", "verdict"], ...rows]), isGood };
}

function numberOf(promise) {
  return Number(promise.slice(1));
}

/** Rows of cells as lines whose columns stand below each other. @param {readonly (readonly string[])[]} rows */
export function aligned(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
