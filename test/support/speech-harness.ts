import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { PipelineEvent } from "#framemill/core/events.js";
import type { PipelineSetup } from "#framemill/core/modality.js";
import { createSpeechPipeline } from "#framemill/modalities/speech/pipeline.js";
import type { SpeechOutput, SpeechRequest } from "#framemill/modalities/speech/request.js";

/** A folder of the fixtures: graphs whose sound tells what they were fed. */
export const fixture = (name: string) =>
  fileURLToPath(new URL(`../fixtures/speech/${name}`, import.meta.url));
const programs = { ffmpegPath: "ffmpeg", ffprobePath: "ffprobe", espeakPath: "espeak-ng" };
export const setupOf = (modelPath: string): PipelineSetup => ({
  modelPath,
  threads: 1,
  ...programs,
});
/** Two sentences in the first voice. */
export const request: SpeechRequest = {
  model: "voice",
  input: "Hello, world! Hello again to all the world.",
  voice: "alloy",
  format: "pcm",
  speed: 1,
  isEventStream: false,
  language: null,
};

export interface Said {
  readonly bytes: Buffer;
  readonly output: SpeechOutput;
}

export async function collect(events: AsyncIterable<PipelineEvent<SpeechOutput>>): Promise<Said> {
  const parts: Uint8Array[] = [];
  let output: SpeechOutput | undefined;
  for await (const event of events) {
    if (event.type === "output") ({ output } = event);
    if (event.type === "chunk" && event.chunk.type === "bytes") parts.push(event.chunk.bytes);
  }
  if (output === undefined) throw new Error("the pipeline gave no output");
  return { bytes: Buffer.concat(parts), output };
}

export const contextOf = (signal: AbortSignal = new AbortController().signal) => ({
  signal,
  scratchPath: tmpdir(),
  readInput: () => Promise.reject(new Error("speech has no inputs")),
});

/** A pipeline that speaks the request above, changed. */
export interface Voice {
  readonly say: (changes?: Partial<SpeechRequest>) => Promise<Said>;
  readonly close: () => Promise<void>;
}

export async function openVoice(modelPath: string, setup = setupOf(modelPath)): Promise<Voice> {
  const pipeline = await createSpeechPipeline(setup);
  return {
    say: (changes = {}) => collect(pipeline.run({ ...request, ...changes }, contextOf())),
    close: () => pipeline.close(),
  };
}

/** Opens a voice for one request. */
export async function say(
  modelPath: string,
  changes: Partial<SpeechRequest> = {},
  setup = setupOf(modelPath),
): Promise<Said> {
  const voice = await openVoice(modelPath, setup);
  try {
    return await voice.say(changes);
  } finally {
    await voice.close();
  }
}

/** Whatever a test did to its ffmpeg and espeak-ng, none may be left of this process. */
export async function expectNoChildren(): Promise<void> {
  const { stdout } = await promisify(execFile)("ps", ["-o", "comm=", "--ppid", `${process.pid}`]);
  if (/ffmpeg|espeak/.test(stdout)) throw new Error(`processes are left: ${stdout}`);
}
