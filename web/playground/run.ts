import { ApiError, call, callJson, type ErrorBody, messageOf, readJson } from "../lib/api.js";
import { eventData } from "../lib/event-stream.js";
import type { Endpoint, Values } from "./catalogue.js";
import { toBody } from "./form-values.js";

/** The public object of a job, as far as the page shows it. */
export interface Job {
  readonly id: string;
  readonly status: "queued" | "in_progress" | "completed" | "failed";
  readonly progress: number;
  readonly stage: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly queue_position: number | null;
  readonly eta_seconds: number | null;
  readonly cost: { readonly amount: number; readonly final: number | null };
}

export interface Charge {
  readonly amount: number;
  readonly units: Readonly<Record<string, number>>;
}

/** What was said in a conversation. */
export interface Turn {
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** One request and what has come of it. */
export interface Run {
  readonly id: string;
  readonly state: "running" | "done" | "failed" | "cancelled";
  readonly request: Values;
  readonly startedAtMs: number;
  readonly endedAtMs?: number;
  /** Of a conversation: what was said before the answer. */
  readonly turns?: readonly Turn[];
  readonly job?: Job;
  /** A picture of what is made so far, of a finished clip its thumbnail. */
  readonly preview?: Blob;
  /** Where a clip is played while it is made: as one stream, and as a list for HLS players. */
  readonly live?: { readonly url: string; readonly listUrl: string };
  /** What was made: itself, or its address on the front. */
  readonly media?: { readonly type: string; readonly blob?: Blob; readonly url?: string };
  readonly pictures?: readonly string[];
  readonly isUnfinished?: boolean;
  readonly text?: string;
  /** What a model thought before it answered. */
  readonly thoughts?: string;
  /** JSON as it came. */
  readonly answer?: unknown;
  readonly charge?: Charge;
  readonly error?: { readonly message: string; readonly param?: string | undefined };
  /** What is the matter while it goes on. */
  readonly notice?: string | undefined;
}

export type Change = Partial<Run>;

export interface RunContext {
  readonly endpoint: Endpoint;
  readonly key: string;
  readonly request: Values;
  /** The job, where it is there already. */
  readonly job?: Job | undefined;
  readonly signal: AbortSignal;
  readonly onChange: (change: Change) => void;
}

/** How often the charge of an answer is asked for: it is entered when the answer has ended. */
const CHARGE_TRIES = 5;
const CHARGE_PAUSE_MS = 200;
const RECONNECT_MS = 2_000;

/** Sends a request and follows it to its end, whatever that is; never rejects. */
export async function runRequest(context: RunContext): Promise<void> {
  const { endpoint, signal, onChange } = context;
  try {
    if (endpoint.isJob) await followJob(context);
    else await readAnswer(context);
  } catch (thrown) {
    if (signal.aborted) onChange({ state: "cancelled" });
    else {
      const param = thrown instanceof ApiError ? thrown.param : undefined;
      onChange({ state: "failed", error: { message: messageOf(thrown), param } });
    }
  } finally {
    onChange({ endedAtMs: Date.now() });
  }
}

/** Asks for the end of a job; what comes of that, its events tell. */
export async function cancelJob({ path }: Endpoint, key: string, id: string): Promise<void> {
  await call(`${path}/${id}/cancel`, { key, method: "POST" });
}

async function followJob(context: RunContext): Promise<void> {
  const { endpoint, key, request, signal, onChange } = context;
  // Not aborted: what may have been created is cancelled by its id.
  const created =
    context.job ?? (await callJson<Job>(endpoint.path, { key, body: toBody(request) }));
  if (signal.aborted) await cancelJob(endpoint, key, created.id);
  onChange({ job: created, answer: created });
  const job = await awaitEnd(context, created);
  if (job.status === "completed") {
    const media = await findMedia(endpoint, key, job.id);
    if (endpoint.hasPreview) await showPicture(context, job.id);
    onChange({ state: "done", media, ...(await chargeOf(context, job.id)) });
  } else if (job.error?.code === "cancelled") onChange({ state: "cancelled" });
  else
    onChange({ state: "failed", error: { message: job.error?.message ?? "the job has failed" } });
}

/** The job once it has ended: it goes on while the connection does not, and is found again. */
async function awaitEnd(context: RunContext, created: Job): Promise<Job> {
  const { endpoint, key, signal, onChange } = context;
  let job = created;
  const show = createShow(context);
  for (;;) {
    try {
      const events = await call(`${endpoint.path}/${job.id}/events`, { key, signal });
      onChange({ notice: undefined });
      for await (const data of eventData(events.body ?? new ReadableStream())) {
        job = parseJob(data);
        onChange({ job, answer: job });
        show(job);
      }
    } catch (thrown) {
      if (signal.aborted || thrown instanceof ApiError) throw thrown;
    }
    if (job.status === "completed" || job.status === "failed") return job;
    onChange({ notice: "The connection is lost. The job goes on, and is looked for again." });
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    signal.throwIfAborted();
  }
}

/** Shows what there is of a running clip, at each change: a picture, and once there are frames the clip. */
function createShow(context: RunContext): (job: Job) => void {
  let hasLive = false;
  return ({ id, status, stage }) => {
    if (!context.endpoint.hasPreview || status !== "in_progress") return;
    void showPicture(context, id);
    if (stage !== "frames" || hasLive) return;
    hasLive = true;
    void showLive(context, id);
  };
}

/** Of what there is so far, or the finished clip's thumbnail; one that is not there yet is nothing to tell of. */
async function showPicture({ endpoint, key, signal, onChange }: RunContext, id: string) {
  const preview = await call(`${endpoint.path}/${id}/preview`, { key, signal })
    .then(async (response) => (response.status === 200 ? await response.blob() : undefined))
    .catch(() => undefined);
  if (preview !== undefined && !signal.aborted) onChange({ preview });
}

/** A clip that cannot be played while it is made is shown in pictures all the same. */
async function showLive({ endpoint, key, signal, onChange }: RunContext, id: string) {
  const find = async (form: string) => (await findMedia(endpoint, key, id, `?live=${form}`)).url;
  const [url, listUrl] = await Promise.all(["1", "hls"].map(find)).catch(() => []);
  if (url === undefined || listUrl === undefined || signal.aborted) return;
  onChange({ live: { url, listUrl } });
}

interface Link {
  readonly url: string;
  readonly media_type: string;
}

/** A signed address on this origin: a player can ask for parts of the file, and holds no key. */
export async function findMedia({ path }: Endpoint, key: string, id: string, query = "") {
  const link = await callJson<Link>(`${path}/${id}/link${query}`, { key });
  const { pathname, search } = new URL(link.url);
  return { url: pathname + search, type: link.media_type };
}

async function readAnswer(context: RunContext): Promise<void> {
  const { endpoint, key, request, signal, onChange } = context;
  const response = await call(endpoint.path, { key, body: toBody(request), signal });
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("text/event-stream")) await readEvents(response, onChange);
  else if (type.startsWith("application/json")) onChange(showJson(await readJson(response)));
  else if (type.startsWith("text/")) onChange({ text: await response.text() });
  else onChange({ media: { blob: await response.blob(), type } });
  const id = response.headers.get("x-job-id");
  onChange({ state: "done", ...(id !== null && (await chargeOf(context, id))) });
}

async function chargeOf({ key, signal }: RunContext, id: string): Promise<{ charge?: Charge }> {
  for (let attempt = 0; attempt < CHARGE_TRIES; attempt += 1) {
    const charge = await callJson<Charge>(`/v1/charges/${id}`, { key, signal }).catch(() => null);
    if (charge !== null) return { charge };
    await new Promise((resolve) => setTimeout(resolve, CHARGE_PAUSE_MS));
  }
  return {};
}

/** Of a chat's answer or of its chunk, or of a text completion. */
interface Choice {
  readonly message?: Said;
  readonly delta?: Said;
  readonly text?: string;
}

interface Said {
  readonly content?: string | null;
  readonly reasoning_content?: string | null;
}

/** What a choice or an event says, and what was thought before. */
interface Written {
  readonly text?: string | undefined;
  readonly thoughts?: string | undefined;
}

function writtenIn({ message, delta, text }: Choice = {}): Written {
  const said = message ?? delta;
  return { text: said?.content ?? text, thoughts: said?.reasoning_content ?? undefined };
}

/** Events of chat, text completions, responses, images and transcriptions. */
interface StreamEvent {
  readonly type?: string;
  readonly delta?: string;
  readonly text?: string;
  readonly b64_json?: string;
  readonly choices?: readonly Choice[];
  readonly response?: unknown;
  readonly error?: ErrorBody;
}

async function readEvents(response: Response, onChange: RunContext["onChange"]): Promise<void> {
  const written = { text: "", thoughts: "" };
  for await (const data of eventData(response.body ?? new ReadableStream())) {
    const event = parseEvent(data);
    if (event.error !== undefined && event.error !== null) throw new ApiError(500, event.error);
    const { text = "", thoughts = "" } = writtenBy(event);
    written.text += text;
    written.thoughts += thoughts;
    onChange(shown(written));
    if (event.b64_json !== undefined)
      onChange({
        pictures: [pictureUrl(event.b64_json)],
        isUnfinished: event.type?.endsWith(".partial_image") === true,
      });
    else onChange({ answer: event.response ?? event });
  }
}

/** What an event adds. */
function writtenBy({ type = "", delta, choices = [] }: StreamEvent): Written {
  if (type === "response.reasoning_text.delta") return { thoughts: delta };
  return type.endsWith("text.delta") ? { text: delta } : writtenIn(choices[0]);
}

function shown({ text = "", thoughts = "" }: Written): Change {
  return { ...(text !== "" && { text }), ...(thoughts !== "" && { thoughts }) };
}

/** Whatever type is named, a browser goes by the picture's first bytes. */
function pictureUrl(base64: string): string {
  return `data:image/png;base64,${base64}`;
}

/** Of a response. */
interface OutputItem {
  readonly type?: string;
  readonly content?: readonly { readonly text?: string }[];
}

interface Answer {
  readonly text?: string;
  readonly output?: readonly OutputItem[];
  readonly choices?: readonly Choice[];
  readonly data?: readonly { readonly b64_json?: string; readonly url?: string }[];
}

function textIn(items: readonly OutputItem[] = []): string {
  return items.flatMap(({ content = [] }) => content.map(({ text = "" }) => text)).join("");
}

function showJson(answer: Answer): Change {
  const [said, thought] = [false, true].map((isThought) =>
    textIn(answer.output?.filter(({ type }) => (type === "reasoning") === isThought)),
  );
  const { text = said, thoughts = thought } = writtenIn(answer.choices?.[0] ?? answer);
  const pictures = (answer.data ?? []).flatMap(({ b64_json: base64, url }) =>
    base64 === undefined ? (url ?? []) : pictureUrl(base64),
  );
  return {
    answer: pictures.length > 0 ? { ...answer, data: `${pictures.length} pictures` } : answer,
    ...shown({ text, thoughts }),
    ...(pictures.length > 0 && { pictures }),
  };
}

// As in `readJson`: the front that sends them is of the page's own build.
// oxlint-disable typescript/no-unsafe-type-assertion
function parseJob(data: string): Job {
  return JSON.parse(data) as Job;
}

function parseEvent(data: string): StreamEvent {
  return JSON.parse(data) as StreamEvent;
}
// oxlint-enable typescript/no-unsafe-type-assertion
