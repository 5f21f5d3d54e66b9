import { appendFile, mkdir } from "node:fs/promises";
import { join } from "node:path";

/** What one promise of a chaos run came to. */
export interface Verdict {
  /** `T1` to `T38`. */
  readonly promise: string;
  readonly injected: string;
  readonly counted: string;
  readonly holds: boolean;
}

/** Prints a verdict; a run that names CHAOS_OUT collects them there in `verdicts.jsonl`. */
export async function noteVerdict(verdict: Verdict): Promise<void> {
  const { promise, injected, counted, holds } = verdict;
  process.stdout.write(`${promise} · ${injected} · ${counted} · ${holds ? "holds" : "BROKEN"}\n`);
  const folder = process.env["CHAOS_OUT"];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await appendFile(join(folder, "verdicts.jsonl"), `${JSON.stringify(verdict)}\n`);
}

/** How many times a promise is tried: few in `npm run test:deep`, all in `npm run chaos -- --full`. */
export function countOf(form: { readonly short: number; readonly full: number }): number {
  return process.env["CHAOS_FORM"] === "full" ? form.full : form.short;
}

/** A limit that only the full form asserts, whose machine is quiet: the short one prints what it saw. */
export function limitOf(full: number): number {
  return countOf({ short: Infinity, full });
}
