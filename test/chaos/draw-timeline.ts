import type { LogEvent } from "./event-log.js";

const WIDTH = 1_200;
const ROW = 3;
const MARGIN = 40;
const COLOURS: Readonly<Record<string, string>> = { completed: "#2a9d5c", failed: "#c0392b" };

/** One bar a job, from its acceptance to its end, as seen by a polling client; a line a fault. */
export function drawTimeline(log: readonly LogEvent[]): string {
  const endMs = log.reduce((latest, { atMs }) => Math.max(latest, atMs), 1);
  const x = (atMs: number) => (MARGIN + (atMs / endMs) * (WIDTH - 2 * MARGIN)).toFixed(1);
  const jobs = log.filter((event) => event.type === "accepted");
  const height = 2 * MARGIN + jobs.length * ROW;
  const seen = log.filter((event) => event.type === "seen");
  const lastSeen = new Map(seen.map((event) => [event.id, event]));
  const bars = jobs.map(({ id, atMs }, index) => {
    const last = lastSeen.get(id);
    const status = last?.status ?? "";
    const from = Number(x(atMs));
    const width = Math.max(1, Number(x(last?.atMs ?? atMs)) - from).toFixed(1);
    const y = MARGIN + index * ROW;
    const fill = COLOURS[status] ?? "#999999";
    return `<rect x="${from}" y="${y}" width="${width}" height="${ROW - 1}" fill="${fill}"/>`;
  });
  const faults = log.filter((event) => event.type === "fault");
  const lines = faults.map(({ atMs, promise, what }, index) => {
    const at = x(atMs);
    const line = `<line x1="${at}" x2="${at}" y1="${MARGIN - 6}" y2="${height - MARGIN}" stroke="#333333" stroke-width="0.6"/>`;
    const y = 12 + (index % 3) * 9;
    return `${line}<text x="${at}" y="${y}" font-size="8">${promise} ${what}</text>`;
  });
  const axis = `<text x="${MARGIN}" y="${height - 12}" font-size="10">0 s</text><text x="${WIDTH - MARGIN}" y="${height - 12}" font-size="10" text-anchor="end">${Math.round(endMs / 1_000)} s</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif"><rect width="100%" height="100%" fill="#ffffff"/>${bars.join("")}${lines.join("")}${axis}</svg>\n`;
}
