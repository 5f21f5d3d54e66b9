import type { TargetedEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { formatSeconds, formatUsd } from "../lib/format.js";
import { useObjectUrl } from "../lib/object-url.js";
import { AnswerView } from "./answer-view.js";
import type { Endpoint } from "./catalogue.js";
import { Conversation } from "./conversation.js";
import { textOf } from "./form-values.js";
import { titleOf } from "./gallery.js";
import type { Job, Run } from "./run.js";
import { Sound } from "./sound.js";

const TICK_MS = 200;

export interface ResultActions {
  readonly onRetry: (run: Run) => void;
  /** Holds it beside what is made next, or no longer. */
  readonly onCompare: (run: Run) => void;
  /** Makes the next one from this seed; empty: from any. */
  readonly onSeed: (seed: string) => void;
  readonly keptSeed: string;
  readonly comparedId: string | undefined;
  /** To the endpoint that makes something of it. */
  readonly onward?: { readonly label: string; readonly go: (run: Run) => void };
}

export interface ResultProps {
  readonly label: string;
  readonly endpoint: Endpoint;
  readonly run: Run | undefined;
  /** What stands beside it. */
  readonly other: Run | undefined;
  readonly actions: ResultActions;
}

/** What has come of a request. */
export function Result({ label, endpoint, run, other, actions }: ResultProps) {
  if (run === undefined)
    return (
      <section class="result empty" aria-label={label}>
        <p class="muted">The answer appears here.</p>
      </section>
    );
  return (
    <section class="result" aria-label={label} aria-busy={run.state === "running"}>
      <Status run={run} />
      {run.state === "running" && endpoint.isJob && <Progress job={run.job} />}
      {other !== undefined && <Differences run={run} other={other} />}
      {run.notice !== undefined && (
        <p class="problem" role="status">
          {run.notice}
        </p>
      )}
      {run.error !== undefined && run.error.param === undefined && (
        <div class="inline">
          <p class="problem" role="alert">
            {run.error.message}
          </p>
          <button type="button" class="quiet small" onClick={() => actions.onRetry(run)}>
            Try again
          </button>
        </div>
      )}
      <Stage run={run} />
      {run.turns === undefined ? <AnswerView run={run} /> : <Conversation run={run} />}
      {run.state === "done" && run.turns === undefined && (
        <Actions run={run} actions={actions} hasSeed={hasSeed(endpoint)} />
      )}
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

function hasSeed({ fields, conversation }: Endpoint): boolean {
  return conversation === undefined && fields.some(({ name }) => name === "seed");
}

/** What two requests do not share, as this one has it. */
function Differences({ run, other }: { readonly run: Run; readonly other: Run }) {
  const names = [...new Set([...Object.keys(run.request), ...Object.keys(other.request)])];
  const shown = (value: unknown) =>
    value instanceof File ? value.name : value === undefined ? "default" : textOf(value);
  const rows = names
    .map((name) => [name, shown(run.request[name]), shown(other.request[name])] as const)
    .filter(([, mine, theirs]) => mine !== theirs);
  return (
    <dl class="differences" aria-label="What differs">
      {rows.map(([name, mine]) => (
        <div key={name}>
          <dt>{name.replaceAll("_", " ")}</dt>
          <dd>{mine}</dd>
        </div>
      ))}
      {rows.length === 0 && <dt>the same request</dt>}
    </dl>
  );
}

function Actions({
  run,
  actions: { onSeed, onCompare, keptSeed, comparedId, onward },
  hasSeed: isSeeded,
}: {
  readonly run: Run;
  readonly actions: ResultActions;
  readonly hasSeed: boolean;
}) {
  const seed = textOf(run.request["seed"] ?? "");
  const isKept = seed !== "" && seed === keptSeed;
  const isCompared = run.id === comparedId;
  return (
    <div class="actions">
      {isSeeded && seed !== "" && (
        <button
          type="button"
          class="quiet small"
          aria-pressed={isKept}
          onClick={() => onSeed(isKept ? "" : seed)}
        >
          {isKept ? "Seed kept" : "Keep seed"} <span class="figure">{seed}</span>
        </button>
      )}
      <button
        type="button"
        class="quiet small"
        aria-pressed={isCompared}
        onClick={() => onCompare(run)}
      >
        {isCompared ? "Stop comparing" : "Compare with the next"}
      </button>
      {onward !== undefined && (
        <button type="button" class="quiet small" onClick={() => onward.go(run)}>
          {onward.label}
        </button>
      )}
    </div>
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

/** Whether there is a video to play: a finished one, or one in the making. */
function isClip({ state, live, media }: Run, url: string | undefined): boolean {
  if (url !== undefined) return isVideo(media?.type);
  return live !== undefined && (state === "running" || state === "done");
}

/** What was made, or a picture of it while it is made. */
function Stage({ run }: { readonly run: Run }) {
  const { media, preview } = run;
  const previewUrl = useObjectUrl(preview);
  const blobUrl = useObjectUrl(media?.blob);
  const url = media?.url ?? blobUrl;
  const name = fileNameOf(run);
  if (isClip(run, url))
    return (
      <figure>
        <Clip key={run.id} live={run.live} url={url} poster={previewUrl} />
        {url !== undefined && <Download url={url} name={name} />}
      </figure>
    );
  if (url !== undefined)
    return (
      <figure>
        <Sound url={url} blob={media?.blob} />
        <Download url={url} name={name} />
      </figure>
    );
  if (run.state === "running" && previewUrl !== undefined)
    return (
      <figure>
        <img src={previewUrl} alt="What is made so far" />
      </figure>
    );
  return <Pictures run={run} name={name} />;
}

/**
 * A clip while it is made; its finished file takes over where it is then. A browser that cannot play the one
 * stream takes the list.
 */
function Clip({
  live,
  url,
  poster,
}: {
  readonly live: Run["live"];
  readonly url: string | undefined;
  readonly poster: string | undefined;
}) {
  const [wasLive] = useState(live !== undefined && url === undefined);
  const [isLive, setIsLive] = useState(wasLive);
  const watched = useRef<HTMLVideoElement>(null);
  const seek = ({ currentTarget: file }: TargetedEvent<HTMLVideoElement>) => {
    const { currentTime = 0, ended = false } = watched.current ?? {};
    if (isLive) file.currentTime = ended ? 0 : currentTime;
  };
  const takeOver = ({ currentTarget: file }: TargetedEvent<HTMLVideoElement>) => {
    const { current: before } = watched;
    if (!isLive || before === null) return;
    Object.assign(file, { muted: before.muted, volume: before.volume });
    // One that may not start by itself is started by hand.
    if (!before.paused || before.ended) file.play().catch(() => {});
    setIsLive(false);
  };
  const shared = { poster, controls: true, muted: true, playsInline: true };
  return (
    <>
      {url !== undefined && (
        // oxlint-disable-next-line jsx-a11y/media-has-caption -- clips have no speech
        <video
          key="file"
          {...shared}
          src={url}
          loop
          preload="auto"
          autoPlay={!wasLive}
          hidden={isLive}
          onLoadedMetadata={seek}
          onSeeked={takeOver}
        />
      )}
      {isLive && live !== undefined && (
        // oxlint-disable-next-line jsx-a11y/media-has-caption -- clips have no speech
        <video key="live" {...shared} ref={watched} autoPlay aria-label="The clip while it is made">
          <source src={live.url} type="video/mp4" />
          <source src={live.listUrl} type="application/vnd.apple.mpegurl" />
        </video>
      )}
    </>
  );
}

function Pictures({ run, name }: { readonly run: Run; readonly name: string }) {
  const { pictures = [], isUnfinished = false } = run;
  return (
    <>
      {pictures.map((picture) => (
        <figure key={picture.slice(-64)} data-unfinished={isUnfinished}>
          <img
            src={picture}
            alt={isUnfinished ? "Unfinished picture" : "The picture that was made"}
          />
          {!isUnfinished && <Download url={picture} name={name} />}
        </figure>
      ))}
    </>
  );
}

function isVideo(type = ""): boolean {
  return type.startsWith("video/");
}

/** A name that tells files apart in a folder of downloads. */
function fileNameOf(run: Run): string {
  const { media } = run;
  const subtype = /^\w+\/(?:x-)?(\w+)/.exec(media?.type ?? "image/png")?.[1] ?? "bin";
  const words = titleOf(run)
    .toLowerCase()
    .match(/[a-z0-9]+/g) ?? ["framemill"];
  return `${words.slice(0, 6).join("-")}.${subtype === "mpeg" ? "mp3" : subtype}`;
}

function Download({ url, name }: { readonly url: string; readonly name: string }) {
  return (
    <figcaption>
      <a href={url} download={name}>
        Download
      </a>
    </figcaption>
  );
}
