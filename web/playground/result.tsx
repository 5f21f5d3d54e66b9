import { useEffect, useState } from "preact/hooks";
import { formatSeconds, formatUsd } from "../lib/format.js";
import { AnswerView } from "./answer-view.js";
import type { Endpoint } from "./catalogue.js";
import type { Job, Run } from "./run.js";

const TICK_MS = 200;

/** What has come of the latest request. */
export function Result({
  endpoint,
  run,
}: {
  readonly endpoint: Endpoint;
  readonly run: Run | undefined;
}) {
  if (run === undefined)
    return (
      <section class="result empty" aria-label="Result">
        <p class="muted">The answer appears here.</p>
      </section>
    );
  return (
    <section class="result" aria-label="Result" aria-busy={run.state === "running"}>
      <Status run={run} />
      {run.state === "running" && endpoint.isJob && <Progress job={run.job} />}
      {run.error !== undefined && run.error.param === undefined && (
        <p class="problem" role="alert">
          {run.error.message}
        </p>
      )}
      <Stage run={run} />
      <AnswerView run={run} />
      {run.answer !== undefined && (
        <details class="raw">
          <summary>JSON</summary>
          <pre tabIndex={0} role="region" aria-label="The answer as JSON">
            <code>{JSON.stringify(run.answer, null, 2)}</code>
          </pre>
        </details>
      )}
    </section>
  );
}

const STATES = { running: "Running", done: "Done", failed: "Failed", cancelled: "Cancelled" };

function Status({ run }: { readonly run: Run }) {
  const seconds = useElapsed(run);
  return (
    <p class="status" data-state={run.state}>
      <strong role="status">{STATES[run.state]}</strong>
      <span class="figure">{formatSeconds(seconds)}</span>
      <Cost run={run} />
    </p>
  );
}

/** Charged once it has ended, quoted before; a request that failed costs nothing. */
function Cost({ run: { state, job, charge } }: { readonly run: Run }) {
  if (charge !== undefined)
    return (
      <span class="figure" title={JSON.stringify(charge.units)}>
        cost {formatUsd(charge.amount)}
      </span>
    );
  if (state === "running")
    return job === undefined ? null : (
      <span class="figure muted">will cost {formatUsd(job.cost.amount)}</span>
    );
  return state === "done" ? null : <span class="figure">cost {formatUsd(0)}</span>;
}

function useElapsed({ startedAtMs, endedAtMs }: Run): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (endedAtMs !== undefined) return undefined;
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [endedAtMs]);
  return Math.max(0, (endedAtMs ?? now) - startedAtMs) / 1_000;
}

function Progress({ job }: { readonly job: Job | undefined }) {
  const percent = job?.progress ?? 0;
  return (
    <div class="progress">
      <progress max={100} value={percent} aria-label="Progress" />
      <span class="figure">{percent} %</span>
      <span class="muted">{describe(job)}</span>
    </div>
  );
}

function describe(job: Job | undefined): string {
  if (job === undefined) return "sending";
  const left = job.eta_seconds === null ? "" : `, about ${formatSeconds(job.eta_seconds)} left`;
  if (job.status !== "queued") return `${job.stage ?? "starting"}${left}`;
  const place = job.queue_position ?? 1;
  return place <= 1 ? `next in the queue${left}` : `${place - 1} before it in the queue${left}`;
}

/** What was made, or a picture of it while it is made. */
function Stage({ run }: { readonly run: Run }) {
  const { media, preview, pictures = [], isUnfinished = false } = run;
  if (media?.type.startsWith("video/") === true)
    return (
      <figure>
        {/* oxlint-disable-next-line jsx-a11y/media-has-caption -- clips have no speech */}
        <video src={media.url} poster={preview} controls loop muted autoPlay playsInline />
        <Download url={media.url} />
      </figure>
    );
  if (media !== undefined)
    return (
      <figure>
        <audio src={media.url} controls />
        <Download url={media.url} />
      </figure>
    );
  if (run.state === "running" && preview !== undefined)
    return (
      <figure>
        <img src={preview} alt="What is made so far" />
      </figure>
    );
  return (
    <>
      {pictures.map((url) => (
        <figure key={url.slice(-64)} data-unfinished={isUnfinished}>
          <img src={url} alt={isUnfinished ? "Unfinished picture" : "The picture that was made"} />
          {!isUnfinished && <Download url={url} />}
        </figure>
      ))}
    </>
  );
}

function Download({ url }: { readonly url: string }) {
  return (
    <figcaption>
      <a href={url} download>
        Download
      </a>
    </figcaption>
  );
}
