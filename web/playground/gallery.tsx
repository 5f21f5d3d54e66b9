import { useObjectUrl } from "../lib/object-url.js";
import { textOf } from "./form-values.js";
import type { Run } from "./run.js";

export interface GalleryProps {
  readonly runs: readonly Run[];
  readonly shownId: string | undefined;
  readonly onShow: (id: string) => void;
  readonly onForget: () => void;
}

/** What was made in the last 24 hours, to be opened again. */
export function Gallery({ runs, shownId, onShow, onForget }: GalleryProps) {
  if (runs.length === 0) return null;
  return (
    <section class="gallery" aria-label="Last 24 hours">
      <div class="gallery-bar">
        <h2>Last 24 hours</h2>
        <button type="button" class="quiet small" onClick={onForget}>
          Clear
        </button>
      </div>
      <p class="help">Kept in this browser, for this key.</p>
      <ul>
        {runs.map((run) => (
          <li key={run.id}>
            <button
              type="button"
              class="card"
              aria-current={run.id === shownId}
              onClick={() => onShow(run.id)}
            >
              <Thumbnail run={run} />
              <span class="card-title">{titleOf(run)}</span>
              <span class="muted">
                {run.state === "done" ? "" : `${run.state}, `}
                {clockOf(run.startedAtMs)}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function clockOf(ms: number): string {
  return new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

function Thumbnail({ run: { preview, pictures, text, media } }: { readonly run: Run }) {
  const url = useObjectUrl(preview) ?? pictures?.[0];
  if (url !== undefined) return <img src={url} alt="" />;
  const isSound = media?.type.startsWith("audio/") === true;
  return <span class="card-text">{isSound ? "♪" : text}</span>;
}

/** What was asked, in its own words. */
export function titleOf({ request, turns }: Run): string {
  const { prompt, query, input, file } = request;
  if (file instanceof File) return file.name;
  const asked = prompt ?? query ?? turns?.[0]?.content ?? input ?? "";
  return Array.isArray(asked) ? asked.map(textOf).join(", ") : textOf(asked);
}
