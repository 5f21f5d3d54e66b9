import { previewFolder } from "../core/artifact.js";
import { reasonOf } from "../core/errors.js";
import type { Lease } from "../core/job.js";
import type { WorkerDeps } from "./worker-deps.js";

/** What is shown of an attempt while it runs. A picture that cannot be shown disturbs nothing. */
export interface Previews {
  /** Shows a picture (WebP) as soon as the one before is on its way no more. */
  show(bytes: Uint8Array): void;
  /** Takes what was shown away, without being waited for. */
  end(): void;
}

export function createPreviews(
  { jobId, attempt }: Lease,
  { store, log }: Pick<WorkerDeps, "store" | "log">,
): Previews {
  const folder = previewFolder(jobId, attempt);
  const label = { id: `${folder}newest.webp`, variant: "preview", mediaType: "image/webp" };
  let waiting: Uint8Array | undefined;
  let sending: Promise<void> | undefined;
  const send = async (): Promise<void> => {
    for (let bytes = waiting; bytes !== undefined; bytes = waiting) {
      waiting = undefined;
      await store.putBytes(label, bytes);
    }
  };
  const warn = (thrown: unknown) =>
    log.warn({ jobId, reason: reasonOf(thrown) }, "preview not shown");
  let wasShown = false;
  return {
    show(bytes) {
      waiting = bytes;
      wasShown = true;
      sending ??= send()
        .catch(warn)
        .finally(() => (sending = undefined));
    },
    end() {
      waiting = undefined;
      if (!wasShown) return;
      const removed = (sending ?? Promise.resolve()).then(() => store.removeAll(folder));
      void removed.catch(warn);
    },
  };
}
