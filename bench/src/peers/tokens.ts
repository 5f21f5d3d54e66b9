import type { Config } from "../../../src/config.js";
import { randomStream } from "../../../src/models/sampling/noise.js";
import { type BenchRow, compare, median, type RowSpec, timed } from "../report/measure.js";
import { type CpuMeter, openCpuMeter } from "../service/process-cpu.js";
import type { PeerFiles } from "./install.js";
import { residentOf, type Subject, tell, withFramemill, withPeerServer } from "./subject.js";

const LLAMA = "llama.cpp";
const CONTEXTS = [16, 512, 2_000];
const LONG = 2_000;
const TOKENS = 64;
const MOST_MEBIBYTES = 500;
const MOST_PAUSE_MS = 200;

/** What is measured of each side: name and unit of a row, and its bar against the peers. */
const FIGURES = {
  ...Object.fromEntries(
    CONTEXTS.flatMap((context) => [
      [`lone ${context}`, spec(`a lone token at ${context} tokens of context`, "ms", 1)],
      [`CPU ${context}`, spec(`a lone token at ${context}, CPU`, "CPU-ms", null)],
    ]),
  ),
  "8 streams": rate("8 streams"),
  "32 streams": rate("32 streams"),
  "CPU 8 streams": spec("a token of 8 streams, CPU", "CPU-ms", null),
  "CPU 32 streams": spec("a token of 32 streams, CPU", "CPU-ms", null),
  first: spec("first token of a 20-token prompt", "ms", 1),
  prefill: spec(`first token of a ${LONG}-token prompt`, "ms", 1),
  pause: spec(`worst pause of a stream while ${LONG} tokens arrive`, "ms", null),
} satisfies Record<string, RowSpec>;

type Figures = Record<string, number>;

function spec(what: string, unit: string, target: number | null): RowSpec {
  return { what, unit, target };
}

/** Theirs over ours at most 0.8. */
function rate(what: string): RowSpec {
  return { what: `${what} at once`, unit: "tokens/s", target: 1.25, better: "higher" };
}

/** One int4 decoder in three servers, asked over HTTP in turns, greedily. */
export async function tokenRows(
  config: Config,
  files: PeerFiles,
  rounds: number,
): Promise<BenchRow[]> {
  const { threads } = config;
  const genai = { name: "onnxruntime-genai", program: "genai_server.py", model: files.decoder };
  const llama = { name: LLAMA, program: "llama_server.py", model: files.gguf };
  return await withFramemill(config, { folder: files.decoder }, (ours) =>
    withPeerServer(files, { ...genai, threads }, (first) =>
      withPeerServer(files, { ...llama, threads }, (second) =>
        compareSubjects([ours, first, second], rounds),
      ),
    ),
  );
}

async function compareSubjects(
  subjects: readonly [Subject, ...Subject[]],
  rounds: number,
): Promise<BenchRow[]> {
  const measured = new Map(subjects.map((subject) => [subject, [] as Figures[]]));
  const prompts = createPrompts();
  // The first answers compile, pack and grow memory.
  for (const subject of subjects) await readStream(subject, prompts.fork()()(LONG), TOKENS);
  for (let round = 0; round < rounds; round += 1) {
    const figures = await measureRound(round % 2 === 0 ? subjects : subjects.toReversed(), prompts);
    for (const [subject, found] of figures) measured.get(subject)?.push(found);
  }
  const [ours, ...peers] = subjects;
  const mine = measured.get(ours) ?? [];
  const rows = peers.flatMap((peer) => rowsBeside(peer, mine, measured.get(peer) ?? []));
  const pauses = mine.map(({ pause = Number.NaN }) => ({ ours: pause, against: MOST_PAUSE_MS }));
  const held = { ours: await memoryOf(ours), against: MOST_MEBIBYTES };
  const memory = { what: "memory of inference after 32 streams", unit: "MiB" };
  const beside = await Promise.all(
    peers.map(async (peer) =>
      compare({ what: `${memory.what} ÷ ${peer.name}`, unit: memory.unit, target: null }, [
        { ours: held.ours, against: await memoryOf(peer) },
      ]),
    ),
  );
  return [
    ...rows,
    compare({ ...FIGURES.pause, what: `${FIGURES.pause.what} / 0.2 s`, target: 1 }, pauses),
    compare({ ...memory, what: `${memory.what} / 500 MB`, target: 1 }, [held]),
    ...beside,
  ];
}

async function memoryOf({ modelProcessId }: Subject): Promise<number> {
  return await residentOf([modelProcessId()]);
}

function rowsBeside(
  { name }: Subject,
  ours: readonly Figures[],
  theirs: readonly Figures[],
): BenchRow[] {
  return Object.entries(FIGURES).map(([key, row]: [string, RowSpec]) => {
    const pairs = ours.map((figures, round) => ({
      ours: figures[key] ?? Number.NaN,
      against: theirs[round]?.[key] ?? Number.NaN,
    }));
    return compare({ ...row, what: `${row.what} ÷ ${name}` }, pairs);
  });
}

/** Each kind of request from one side after the other, so that the machine's load is nearly the same. */
async function measureRound(subjects: readonly Subject[], prompts: Prompts) {
  const figures = new Map<Subject, Figures>(subjects.map((subject) => [subject, {}]));
  for (const measure of MEASURES) {
    const given = prompts.fork();
    for (const subject of subjects) {
      const found = await measure(subject, given());
      Object.assign(figures.get(subject) ?? {}, found);
      tell(subject.name, found);
    }
  }
  return figures;
}

type Measure = (subject: Subject, prompt: Prompt) => Promise<Figures>;

const MEASURES: readonly Measure[] = [
  ...CONTEXTS.map((context) => async (subject: Subject, prompt: Prompt) => {
    const { firstMs, tokenMs, cpuMs } = await readStream(subject, prompt(context), TOKENS);
    const lone = { [`lone ${context}`]: tokenMs, [`CPU ${context}`]: cpuMs };
    return context === LONG ? { ...lone, prefill: firstMs } : lone;
  }),
  measureFirst,
  (subject, prompt) => measureStreams(subject, prompt, { streams: 8, tokens: 32 }),
  (subject, prompt) => measureStreams(subject, prompt, { streams: 32, tokens: 24 }),
  measurePause,
];

/** Eleven words and nine tokens of the template. */
const SHORT_WORDS = 11;
const FIRST_TOKENS = 5;

async function measureFirst(subject: Subject, prompt: Prompt): Promise<Figures> {
  const firsts: number[] = [];
  for (let done = 0; done < FIRST_TOKENS; done += 1)
    firsts.push((await readStream(subject, prompt(SHORT_WORDS), 2)).firstMs);
  return { first: median(firsts) };
}

async function measureStreams(
  subject: Subject,
  prompt: Prompt,
  { streams, tokens }: { readonly streams: number; readonly tokens: number },
): Promise<Figures> {
  const meter = await openCpuMeter(subject.processId);
  const { seconds } = await timed(() =>
    Promise.all(Array.from({ length: streams }, () => readStream(subject, prompt(16), tokens))),
  );
  const made = streams * tokens;
  return {
    [`${streams} streams`]: made / seconds,
    [`CPU ${streams} streams`]: (await meter.spentMs()) / made,
  };
}

const RUNNING_TOKENS = 300;
const TOKENS_BEFORE = 20;

/** A stream runs, a long prompt comes in: the longest time without a token of the stream from then on. */
async function measurePause(subject: Subject, prompt: Prompt): Promise<Figures> {
  let pause = 0;
  let lastAt: number | undefined;
  let other: Promise<unknown> | undefined;
  let tokens = 0;
  const onPiece = () => {
    const now = performance.now();
    tokens += 1;
    if (lastAt !== undefined) pause = Math.max(pause, now - lastAt);
    if (other !== undefined) lastAt = now;
    if (tokens < TOKENS_BEFORE) return;
    lastAt ??= now;
    other ??= readStream(subject, prompt(LONG), 2);
  };
  await readStream(subject, prompt(16), RUNNING_TOKENS, onPiece);
  await other;
  return { pause };
}

interface Read {
  /** From the request to the first piece of text. */
  readonly firstMs: number;
  /** Of a token after that piece. */
  readonly tokenMs: number;
  /** Of the subject's processes, for a token after that piece. */
  readonly cpuMs: number;
}

/** Reads one greedy answer of this length as it streams. */
async function readStream(
  subject: Subject,
  content: string,
  tokens: number,
  onPiece: () => void = () => {},
): Promise<Read> {
  const startedAt = performance.now();
  const firstMs: number[] = [];
  const meters: CpuMeter[] = [];
  for await (const pieces of openStream(subject, content, tokens)) {
    for (let piece = 0; piece < pieces; piece += 1) onPiece();
    if (firstMs.length > 0 || pieces === 0) continue;
    firstMs.push(performance.now() - startedAt);
    // Reading what all processes have spent would be felt by shorter answers.
    if (tokens === TOKENS) meters.push(await openCpuMeter(subject.processId));
  }
  const endMs = performance.now() - startedAt;
  const [first = Number.NaN] = firstMs;
  const spentMs = await meters[0]?.spentMs();
  return {
    firstMs: first,
    tokenMs: (endMs - first) / (tokens - 1),
    cpuMs: (spentMs ?? Number.NaN) / (tokens - 1),
  };
}

/** Numbers of pieces of text, as they come in. */
async function* openStream(
  { name, baseUrl, apiKey, model }: Subject,
  content: string,
  tokens: number,
): AsyncGenerator<number> {
  const asked = { model, messages: [{ role: "user", content }], max_tokens: tokens };
  // It alone would remember the prompt of an earlier measurement in the same slot.
  const own = name === LLAMA ? { cache_prompt: false } : {};
  const response = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ ...asked, temperature: 0, stream: true, ...own }),
  });
  if (!response.ok || response.body === null)
    throw new Error(`${name} answered ${response.status}: ${await response.text()}`);
  const decoder = new TextDecoder();
  for await (const bytes of response.body)
    yield [...decoder.decode(bytes).matchAll(/"content": ?"[^"]/g)].length;
}

/** So many words of one token each, of which no prompt before holds the same. */
type Prompt = (words: number) => string;

interface Prompts {
  /** Prompts of one measurement: the same for each side. */
  fork(): () => Prompt;
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz";

function createPrompts(): Prompts {
  let seed = 0;
  return {
    fork() {
      const start = (seed += 1);
      return () => {
        let at = 0;
        const random = randomStream(start, 0);
        const letter = () => LETTERS[Math.floor(random.at(at++) * LETTERS.length)] ?? "";
        return (words) => Array.from({ length: words }, () => letter() + letter()).join(" ");
      };
    },
  };
}
