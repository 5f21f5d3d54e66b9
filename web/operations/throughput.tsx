import type { Overview } from "../../src/front/operations/overview.js";
import { Section } from "./section.js";

const HEIGHT = 60;
const BAR = 10;

/** Jobs that ended in each of the last sixty minutes. */
export function Throughput({ minutes }: Pick<Overview, "minutes">) {
  const most = Math.max(1, ...minutes.map(({ completed, failed }) => completed + failed));
  const done = minutes.reduce((sum, { completed }) => sum + completed, 0);
  const failed = minutes.reduce((sum, minute) => sum + minute.failed, 0);
  return (
    <Section
      title="Throughput"
      about={`Jobs a minute in the last hour; the tallest bar is ${most}.`}
    >
      <svg
        class="throughput"
        viewBox={`0 0 ${minutes.length * BAR} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${done} jobs done and ${failed} failed in the last hour`}
      >
        {minutes.map((minute, index) => {
          const tall = (minute.completed / most) * HEIGHT;
          const bad = (minute.failed / most) * HEIGHT;
          const x = index * BAR + 1;
          return (
            // oxlint-disable-next-line react/no-array-index-key -- a minute is its place
            <g key={index}>
              <rect class="base" x={x} y={HEIGHT - 1} width={BAR - 2} height={1} />
              <rect class="done" x={x} y={HEIGHT - tall} width={BAR - 2} height={tall} />
              <rect class="failed" x={x} y={HEIGHT - tall - bad} width={BAR - 2} height={bad} />
            </g>
          );
        })}
      </svg>
      <p class="axis muted">
        <span>60 min ago</span>
        <span>now</span>
      </p>
    </Section>
  );
}
