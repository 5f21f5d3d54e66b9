import type { Config } from "../../../src/config.js";
import { randomStream } from "../../../src/models/sampling/noise.js";
import { type BenchRow, compare, type Pair } from "../report/measure.js";
import { serve } from "../text/requests.js";
import type { PeerFiles } from "./install.js";
import { cpuMsOf, type Subject, tell, withFramemill, withPeerServer } from "./subject.js";

/** Both sides' threads of a run: with more, idle threads that spin are what is measured. */
const THREADS = 1;
const LOADS = [
  { clients: 1, requests: 150, target: 1.2 },
  { clients: 32, requests: 640, target: 0.6 },
] as const;

/** The same encoder behind LitServe, the same texts of 6 to 150 words over HTTP. */
export async function embeddingRows(
  config: Config,
  files: PeerFiles,
  rounds: number,
): Promise<BenchRow[]> {
  const own = { ...config, threads: THREADS };
  const program = "embedding_server.py";
  const peer = { name: "LitServe", program, model: files.encoder, threads: THREADS };
  return await withFramemill(own, { folder: files.encoder }, (ours) =>
    withPeerServer(files, peer, async (theirs) => {
      const rows: BenchRow[] = [];
      for (const load of LOADS) rows.push(...(await compareLoad(ours, theirs, load, rounds)));
      return rows;
    }),
  );
}

async function compareLoad(
  ours: Subject,
  theirs: Subject,
  { clients, requests, target }: (typeof LOADS)[number],
  rounds: number,
): Promise<BenchRow[]> {
  const cpuMs: Pair[] = [];
  const latency: Pair[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const texts = createTexts(1_000 * clients + round, requests);
    const load = async (subject: Subject) => {
      let ms = Number.NaN;
      const send = (text: string) => embed(subject, text);
      const spent = await cpuMsOf(subject.processId, async () => {
        ms = await serve(send, texts, clients);
      });
      return { cpuMs: spent / requests, ms };
    };
    const [made, peer] = [await load(ours), await load(theirs)];
    tell(ours.name, made);
    tell(theirs.name, peer);
    if (round === 0) continue;
    cpuMs.push({ ours: made.cpuMs, against: peer.cpuMs });
    latency.push({ ours: made.ms, against: peer.ms });
  }
  const who = clients === 1 ? "1 client" : `${clients} clients`;
  return [
    compare({ what: `embedding, ${who}, CPU ÷ LitServe`, unit: "CPU-ms", target }, cpuMs),
    compare({ what: `embedding, ${who}, time ÷ LitServe`, unit: "ms", target: null }, latency),
  ];
}

async function embed({ name, baseUrl, apiKey, model }: Subject, input: string): Promise<void> {
  const response = await fetch(`${baseUrl}/embeddings`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model, input }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${name} answered ${response.status}: ${text.slice(0, 200)}`);
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
const [FEWEST, MOST] = [6, 150];

/** Words of two letters, a token each; short texts are more frequent than long ones. */
function createTexts(seed: number, count: number): string[] {
  const random = randomStream(seed, 0);
  let at = 0;
  const below = (limit: number) => Math.floor(random.at(at++) * limit);
  const letter = () => LETTERS[below(LETTERS.length)] ?? "";
  return Array.from({ length: count }, () => {
    const words = FEWEST + Math.floor((MOST + 1 - FEWEST) * random.at(at++) ** 2);
    return Array.from({ length: words }, () => letter() + letter()).join(" ");
  });
}
