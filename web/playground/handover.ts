import type { Values } from "./catalogue.js";
import type { Run } from "./run.js";

/** What can be gone on with at another endpoint. */
interface Handover {
  /** Of the endpoint that takes it, and the field it goes into. */
  readonly path: string;
  readonly field: string;
  readonly label: string;
}

const HANDOVERS: Readonly<Record<string, Handover>> = {
  "/v1/images/generations": { path: "/v1/videos", field: "image", label: "Animate it" },
  "/v1/audio/speech": {
    path: "/v1/audio/transcriptions",
    field: "file",
    label: "Transcribe it",
  },
};

export function handoverOf(path: string): Handover | undefined {
  return HANDOVERS[path];
}

let handed: { readonly path: string; readonly values: Values } | undefined;

/** Goes to the other endpoint, whose form begins with what was made. */
export function handOver({ path, field }: Handover, run: Run): void {
  const file = fileOf(run);
  if (file === undefined) return;
  handed = { path, values: { [field]: file } };
  location.hash = path;
}

/** What was handed to this endpoint; once. */
export function takeHanded(path: string): Values {
  if (handed?.path !== path) return {};
  const { values } = handed;
  handed = undefined;
  return values;
}

function fileOf({ media, pictures = [] }: Run): File | undefined {
  if (media?.blob !== undefined) {
    const { type } = media;
    return new File([media.blob], `made.${type.split("/")[1] ?? "wav"}`, { type });
  }
  const base64 = /^data:[^,]*;base64,(.*)$/.exec(pictures[0] ?? "")?.[1];
  if (base64 === undefined) return undefined;
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  return new File([bytes], "made.png", { type: "image/png" });
}
