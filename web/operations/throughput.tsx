import type { Overview } from "../../src/front/operations/overview.js";
import { formatCount } from "../lib/format.js";
import { Section } from "./section.js";

const HEIGHT = 60;
const BAR = 10;
const MINUTE_MS = 60_000;
/** Minutes between two marks of time. */
const MARK = 15;

export interface ThroughputProps extends Pick<Overview, "minutes"> {
  /** When the last minute was read. */
  readonly endMs: number;
}

/** Jobs that ended in each of the last sixty minutes. */
export function Throughput({ minutes, endMs }: ThroughputProps) {
  const top = roundUp(Math.max(1, ...minutes.map(({ completed, failed }) => completed + failed)));
  const done = minutes.reduce((sum, { completed }) => sum + completed, 0);
  const failed = minutes.reduce((sum, minute) => sum + minute.failed, 0);
  const timeOf = (index: number) => clockOf(endMs - (minutes.length - 1 - index) * MINUTE_MS);
  return (
    <Section title="Throughput" about="Jobs that ended in a minute, in the last hour.">
      <div class="chart">
        <div class="axis-y muted" aria-hidden="true">
          {marksOf(top).map((mark) => (
            <span key={mark}>{formatCount(mark)}</span>
          ))}
        </div>
        <svg
          class="throughput"
          viewBox={`0 0 ${minutes.length * BAR} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${done} jobs done and ${failed} failed in the last hour, at most ${top} a minute`}
        >
          {marksOf(top).map((mark) => (
            <line
              key={mark}
              class="grid"
              x1={0}
              x2={minutes.length * BAR}
              y1={HEIGHT * (1 - mark / top)}
              y2={HEIGHT * (1 - mark / top)}
            />
          ))}
          {minutes.map((minute, index) => {
            const tall = (minute.completed / top) * HEIGHT;
            const bad = (minute.failed / top) * HEIGHT;
            const x = index * BAR + 1;
            return (
              // oxlint-disable-next-line react/no-array-index-key -- a minute is its place
              <g key={index}>
                <title>{`${timeOf(index)}: ${minute.completed} done, ${minute.failed} failed`}</title>
                <rect class="area" x={index * BAR} y={0} width={BAR} height={HEIGHT} />
                <rect class="done" x={x} y={HEIGHT - tall} width={BAR - 2} height={tall} />
                <rect class="failed" x={x} y={HEIGHT - tall - bad} width={BAR - 2} height={bad} />
              </g>
            );
          })}
        </svg>
        <p class="axis muted">
          {minutes.flatMap((_, index) =>
            index % MARK === 0 ? [<span key={index}>{timeOf(index)}</span>] : [],
          )}
          <span>now</span>
        </p>
      </div>
      <p class="legend muted">
        <span data-of="done">done</span> <span data-of="failed">failed</span>
      </p>
    </Section>
  );
}

/** 1, 2, 5, 10, 20, 50 …: what an axis can end in. */
function roundUp(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1, 2, 5].find((step) => step * power >= most) ?? 10) * power;
}

/** From the top down, whole numbers only. */
function marksOf(top: number): number[] {
  return top % 2 === 0 ? [top, top / 2, 0] : [top, 0];
}

function clockOf(ms: number): string {
  return new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}
