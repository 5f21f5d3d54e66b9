/** What a pipeline yields while it works: noun first, then what happened to it. */
export type PipelineEvent<Output = unknown> =
  | {
      readonly type: "progress";
      /** Share of the whole job done, 0 to 1. */
      readonly fraction: number;
      /** What is being done, for people: `steps`, `frames`, `muxing`, `checking`. */
      readonly stage: string;
    }
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "audio-chunk"; readonly bytes: Uint8Array }
  | {
      /** A finished file in the job's scratch folder, to be uploaded by the worker. */
      readonly type: "file";
      readonly variant: string;
      readonly path: string;
      readonly mediaType: string;
    }
  | { readonly type: "output"; readonly output: Output };
