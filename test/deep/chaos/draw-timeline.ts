import type { LogEvent } from "./event-log.js";

const WIDTH = 1_200;
const LEFT = 290;
const MARGIN = 20;
const FAULT_ROW = 14;
const JOB_ROW = 4;
const COLOURS: Readonly<Record<string, string>> = { completed: "#2a9d5c", failed: "#c0392b" };

interface Bar {
  readonly fromMs: number;
  readonly toMs: number;
  readonly status: string;
}

/**
 * Above, a row for each kind of fault with a tick whenever it was injected; below, a bar for each job
 * from its acceptance to its end, as a polling client saw it, in the first row that is free then.
 */
export function drawTimeline(log: readonly LogEvent[]): string {
  const endMs = log.reduce((latest, { atMs }) => Math.max(latest, atMs), 1);
  const x = (atMs: number) => LEFT + (atMs / endMs) * (WIDTH - LEFT - MARGIN);
  const faults = log.filter((event) => event.type === "fault");
  const kinds = [...new Set(faults.map(({ promise, what }) => `${promise} ${what}`))];
  const rows = faults.map(({ atMs, promise, what }) => {
    const y = MARGIN + kinds.indexOf(`${promise} ${what}`) * FAULT_ROW;
    return `<rect x="${x(atMs).toFixed(1)}" y="${y}" width="2" height="${FAULT_ROW - 4}" fill="#333333"/>`;
  });
  const labels = kinds.map((kind, index) => text(MARGIN, MARGIN + index * FAULT_ROW + 9, kind));
  const top = MARGIN + (kinds.length + 1) * FAULT_ROW;
  const { lanes, places } = packBars(barsOf(log));
  const jobs = places.map(({ bar, lane }) => {
    const width = Math.max(1, x(bar.toMs) - x(bar.fromMs)).toFixed(1);
    const fill = COLOURS[bar.status] ?? "#999999";
    return `<rect x="${x(bar.fromMs).toFixed(1)}" y="${top + lane * JOB_ROW}" width="${width}" height="${JOB_ROW - 1}" fill="${fill}"/>`;
  });
  const height = top + lanes * JOB_ROW + 2 * MARGIN;
  const axis = [
    text(MARGIN, top + 9, `${places.length} jobs: completed, failed`),
    text(LEFT, height - MARGIN / 2, "0 s"),
    text(WIDTH - 3 * MARGIN, height - MARGIN / 2, `${Math.round(endMs / 1_000)} s`),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="10"><rect width="100%" height="100%" fill="#ffffff"/>${[...rows, ...labels, ...jobs, ...axis].join("")}</svg>\n`;
}

function barsOf(log: readonly LogEvent[]): Bar[] {
  const seen = log.filter((event) => event.type === "seen");
  const lastSeen = new Map(seen.map((event) => [event.id, event]));
  const accepted = log.filter((event) => event.type === "accepted");
  return accepted.map(({ id, atMs }) => {
    const last = lastSeen.get(id);
    return { fromMs: atMs, toMs: last?.atMs ?? atMs, status: last?.status ?? "" };
  });
}

/** Each bar goes to the first lane whose bars are over. */
function packBars(bars: readonly Bar[]) {
  const ends: number[] = [];
  const places = bars
    .toSorted((a, b) => a.fromMs - b.fromMs)
    .map((bar) => {
      const free = ends.findIndex((end) => end <= bar.fromMs);
      const lane = free === -1 ? ends.length : free;
      ends[lane] = bar.toMs;
      return { bar, lane };
    });
  return { lanes: ends.length, places };
}

function text(x: number, y: number, words: string): string {
  return `<text x="${x}" y="${y}">${words}</text>`;
}
