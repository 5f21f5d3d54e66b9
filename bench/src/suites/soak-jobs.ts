import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

/** A running service with a key. */
export interface SoakService {
  /** Includes `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Model of a modality; undefined where the service has none. */
  readonly modelOf: (modality: string) => string | undefined;
}

/** One kind of job: the smallest that goes all the way. */
export interface SoakJob {
  readonly kind: string;
  /** Takes seconds where others take a fraction of one: runs every other time only. */
  readonly isLong?: boolean;
  /** Resolves when the caller has all of the answer; `turn` makes every job another one. */
  run(turn: number): Promise<void>;
}

const SUBJECTS = ["boat", "kite", "lantern", "harbour", "violin", "meadow", "train", "owl"];
const COLOURS = ["red", "blue", "green", "white", "golden", "black", "violet"];

/** Texts hardly repeat, so that what is kept of each one adds up. */
function phraseOf(turn: number): string {
  const colour = COLOURS[turn % COLOURS.length];
  return `a ${colour} ${SUBJECTS[turn % SUBJECTS.length]} passes the ${turn}th milestone`;
}

const polled = z.object({ id: z.string(), status: z.string() });

/** One job of each kind that the service has a model for. */
export function soakJobs(service: SoakService): SoakJob[] {
  const { modelOf } = service;
  // A transcription hears what the speech before it said.
  let sound = new Uint8Array();
  const jobs = [...textJobs(service), ...clipJobs(service)];
  const add = (
    kind: string,
    modality: string,
    run: (model: string, text: string) => Promise<void>,
  ) => jobs.push(...jobOf({ kind, model: modelOf(modality) }, run));
  add("speech", "speech", async (model, input) => {
    const body = { model, input, voice: "alloy", response_format: "wav" };
    sound = new Uint8Array(await (await send(service, "/audio/speech", body)).arrayBuffer());
  });
  add("transcription", "transcription", async (model) => {
    const form = new FormData();
    form.set("model", model);
    form.set("file", new Blob([sound]), "speech.wav");
    await drain(await post(service, "/audio/transcriptions", form));
  });
  add("image", "image", async (model, prompt) =>
    drain(await send(service, "/images/generations", { model, prompt })),
  );
  add("music", "music", (model, prompt) =>
    awaitFile(service, "/music", { model, prompt, seconds: 1 }),
  );
  return jobs;
}

interface JobSpec extends Omit<SoakJob, "run"> {
  readonly model: string | undefined;
}

function jobOf(
  { model, ...named }: JobSpec,
  run: (model: string, text: string) => Promise<void>,
): SoakJob[] {
  return model === undefined ? [] : [{ ...named, run: (turn) => run(model, phraseOf(turn)) }];
}

function textJobs(service: SoakService): SoakJob[] {
  const job = (
    [kind, modality, path]: readonly [string, string, string],
    bodyOf: (text: string) => Record<string, unknown>,
  ) =>
    jobOf({ kind, model: service.modelOf(modality) }, async (model, text) =>
      drain(await send(service, path, { model, ...bodyOf(text) })),
    );
  const messages = (content: string) => [{ role: "user", content }];
  const chat = "/chat/completions";
  return [
    ...job(["chat", "chat", chat], (text) => ({ messages: messages(text), max_tokens: 16 })),
    ...job(["chat, streamed", "chat", chat], (text) => ({
      messages: messages(text),
      max_tokens: 16,
      stream: true,
    })),
    ...job(["completions", "chat", "/completions"], (prompt) => ({ prompt, max_tokens: 16 })),
    ...job(["responses", "chat", "/responses"], (input) => ({ input, max_output_tokens: 16 })),
    ...job(["embeddings", "embeddings", "/embeddings"], (input) => ({ input })),
    ...job(["rerank", "rerank", "/rerank"], (query) => ({
      query,
      documents: [`${query} at night`, "soup is best when it is hot"],
    })),
    ...job(["moderation", "moderation", "/moderations"], (input) => ({ input })),
  ];
}

function clipJobs(service: SoakService): SoakJob[] {
  const bodyOf = (model: string, prompt: string) => ({
    model,
    prompt,
    seconds: 4,
    quality: "fast",
  });
  const model = service.modelOf("video");
  return [
    ...jobOf({ kind: "clip", isLong: true, model }, (id, prompt) =>
      awaitFile(service, "/videos", bodyOf(id, prompt)),
    ),
    ...jobOf({ kind: "clip, cancelled", model }, (id, prompt) =>
      cancelClip(service, bodyOf(id, prompt)),
    ),
  ];
}

/** Orders, waits for the end and downloads the file. */
async function awaitFile(service: SoakService, path: string, body: object): Promise<void> {
  let job = polled.parse(await (await send(service, path, body)).json());
  while (job.status === "queued" || job.status === "in_progress")
    job = polled.parse(await (await get(service, `${path}/${job.id}?wait=60`)).json());
  if (job.status !== "completed") throw new Error(`${path}/${job.id} has ${job.status}`);
  await drain(await get(service, `${path}/${job.id}/content`));
}

const RETRIES = 5;
const RETRY_MS = 1_000;
const CANCEL_AFTER_MS = 300;

async function cancelClip(service: SoakService, body: object): Promise<void> {
  const { id } = polled.parse(await (await send(service, "/videos", body)).json());
  await sleep(CANCEL_AFTER_MS);
  await drain(await send(service, `/videos/${id}/cancel`, {}));
}

async function drain(response: Response): Promise<void> {
  await response.arrayBuffer();
}

function send(service: SoakService, path: string, body: object): Promise<Response> {
  return post(service, path, JSON.stringify(body));
}

function post(service: SoakService, path: string, body: string | FormData): Promise<Response> {
  const type = typeof body === "string" ? { "content-type": "application/json" } : {};
  return call(service, path, { method: "POST", body, headers: type });
}

function get(service: SoakService, path: string): Promise<Response> {
  return call(service, path, {});
}

async function call(
  { baseUrl, apiKey }: SoakService,
  path: string,
  { headers = {}, ...init }: { method?: string; body?: string | FormData; headers?: object },
): Promise<Response> {
  const withKey = { ...headers, authorization: `Bearer ${apiKey}` };
  for (let attempt = 0; ; attempt += 1) {
    const response = await fetch(baseUrl + path, { ...init, headers: withKey });
    if (response.ok) return response;
    const text = await response.text();
    // What stock clients do: a busy service says "try again", and they do.
    if (response.status !== 503 || attempt === RETRIES)
      throw new Error(`${path} answered ${response.status}: ${text.slice(0, 200)}`);
    await sleep(RETRY_MS);
  }
}
