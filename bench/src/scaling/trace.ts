import { z } from "zod";

/** A job of a trace. */
export interface Arrival {
  /** From the start of the trace. */
  readonly atSeconds: number;
  readonly modality: string;
  readonly model: string;
  /** Row of the price table within the modality; jobs of one tier take the same time a unit. */
  readonly tier: string;
  /** Size in the job's own unit, which is what the front predicts from. */
  readonly work: number;
  /** What one worker really needs for it. */
  readonly seconds: number;
}

const text = z.string().min(1);
const positive = z.coerce.number().positive();
const row = z.object({
  time_s: z.coerce.number().nonnegative(),
  modality: text.default("video"),
  model: text.default("any"),
  tier: z.string().default(""),
  work: positive.optional(),
  seconds: positive,
});

/**
 * Reads CSV with a heading, or one JSON object a line: `time_s` and `seconds` (compute-seconds), and
 * where known `modality`, `model`, `tier`, `work`. Without `work` all jobs of a kind are predicted
 * alike. Sorted by time. Throws a sentence that names the line.
 */
export function parseTrace(content: string): Arrival[] {
  const lines = content.split(/\r?\n/).map((line, index) => ({ line, number: index + 1 }));
  const filled = lines.filter(({ line }) => line.trim() !== "" && !line.startsWith("#"));
  const rows = filled[0]?.line.trimStart().startsWith("{")
    ? readJsonLines(filled)
    : readCsv(filled);
  if (rows.length === 0) throw new Error("the trace holds no job");
  return rows.map(toArrival).toSorted((a, b) => a.atSeconds - b.atSeconds);
}

interface Line {
  readonly line: string;
  readonly number: number;
}

interface Row {
  readonly fields: unknown;
  readonly number: number;
}

function readJsonLines(lines: readonly Line[]): Row[] {
  return lines.map(({ line, number }) => {
    try {
      return { fields: JSON.parse(line), number };
    } catch {
      throw new Error(`line ${number} of the trace is no JSON: ${line.slice(0, 60)}`);
    }
  });
}

/** Plain columns: names and numbers, which need no quotes. */
function readCsv([heading, ...lines]: readonly Line[]): Row[] {
  const names = heading?.line.split(",").map((name) => name.trim()) ?? [];
  return lines.map(({ line, number }) => {
    const cells = line.split(",").map((cell) => cell.trim());
    const fields = names.map((name, at) => [name, cells[at]]);
    return { fields: Object.fromEntries(fields.filter(([, cell]) => cell !== "")), number };
  });
}

function toArrival({ fields, number }: Row): Arrival {
  const parsed = row.safeParse(fields);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`line ${number} of the trace: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  const { time_s: atSeconds, work = 1, ...rest } = parsed.data;
  return { atSeconds, work, ...rest };
}
