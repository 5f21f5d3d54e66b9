import { textOf } from "./form-values.js";
import type { Run } from "./run.js";

/** What answers have in common with one another, as far as it is drawn. */
interface Drawn {
  readonly data?: readonly { readonly embedding?: unknown }[];
  readonly results?: readonly {
    readonly index?: number;
    readonly relevance_score?: number;
    readonly flagged?: boolean;
    readonly category_scores?: Readonly<Record<string, number>>;
  }[];
}

/** Texts, vectors, orders and verdicts as people read them. */
export function AnswerView({ run }: { readonly run: Run }) {
  if (run.text !== undefined) return <p class="text">{run.text}</p>;
  const { data = [], results = [] } = toDrawn(run.answer);
  const numbers = data[0]?.embedding;
  if (Array.isArray(numbers)) return <Vector numbers={numbers.map(Number)} />;
  const scores = results[0]?.category_scores;
  if (scores !== undefined)
    return <Verdict isFlagged={results[0]?.flagged === true} scores={scores} />;
  if (results.length > 0) return <Ranking results={results} documents={run.request["documents"]} />;
  return null;
}

function toDrawn(answer: unknown): Drawn {
  return typeof answer === "object" && answer !== null ? answer : {};
}

const VECTOR_HEIGHT = 80;

function Vector({ numbers }: { readonly numbers: readonly number[] }) {
  const most = Math.max(...numbers.map(Math.abs), 1e-9);
  const middle = VECTOR_HEIGHT / 2;
  return (
    <figure>
      <svg
        class="vector"
        viewBox={`0 0 ${numbers.length} ${VECTOR_HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`A vector of ${numbers.length} numbers`}
      >
        {numbers.map((number, index) => {
          const height = (Math.abs(number) / most) * middle;
          const y = number < 0 ? middle : middle - height;
          // oxlint-disable-next-line react/no-array-index-key -- numbers have no other name
          return <rect key={index} x={index} y={y} width={0.8} height={height} />;
        })}
      </svg>
      <figcaption>
        {numbers.length} numbers, the first{" "}
        {numbers
          .slice(0, 3)
          .map((one) => one.toFixed(3))
          .join(", ")}
      </figcaption>
    </figure>
  );
}

function Verdict({
  isFlagged,
  scores,
}: {
  readonly isFlagged: boolean;
  readonly scores: Readonly<Record<string, number>>;
}) {
  const sorted = Object.entries(scores).toSorted(([, a], [, b]) => b - a);
  return (
    <>
      <p>
        <strong>{isFlagged ? "Flagged" : "Not flagged"}</strong>
      </p>
      <Scores rows={sorted.map(([label, score]) => ({ label, score }))} heading="Category" />
    </>
  );
}

function Ranking({
  results,
  documents,
}: {
  readonly results: NonNullable<Drawn["results"]>;
  readonly documents: unknown;
}) {
  const texts: readonly unknown[] = Array.isArray(documents) ? documents : [];
  const rows = results.map(({ index = 0, relevance_score: score = 0 }) => ({
    label: textOf(texts[index] ?? index),
    score,
  }));
  return <Scores rows={rows} heading="Document" />;
}

interface ScoresProps {
  readonly rows: readonly { readonly label: string; readonly score: number }[];
  readonly heading: string;
}

function Scores({ rows, heading }: ScoresProps) {
  return (
    <table class="scores">
      <thead>
        <tr>
          <th scope="col">{heading}</th>
          <th scope="col" class="number">
            Score
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ label, score }) => (
          <tr key={label}>
            <td>
              {label}
              <meter min={0} max={1} value={score} aria-label={label} />
            </td>
            <td class="number">{score.toFixed(3)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
