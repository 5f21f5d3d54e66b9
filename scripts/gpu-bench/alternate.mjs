// Runs an embedder and a reranker in turns, as a worker that has both: argv is the program's folder, the
// provider and the number of turns. After each tenth of them a line of JSON says how many there were, the
// milliseconds of a turn and the MiB of the first GPU that are used; null where nvidia-smi does not tell.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [app, provider, turns] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(app, "dist/runtime", path)).href);
const [{ openGraphs }, { int64 }] = await Promise.all([
  load("ort/graphs.js"),
  load("tensors/tensor.js"),
]);
const model = (name) => join(app, "models", name, "model.onnx");
const graphs = await openGraphs({
  graphs: { embedder: model("service-embed-1"), reranker: model("service-rerank-1") },
  threads: 2,
  providers: [provider, "cpu"],
});
const TENTHS = 10;
const ROWS = 8;
/** Lengths that texts have: each is a shape of its own to the provider's memory. */
const LENGTHS = [16, 48, 128, 32, 96];

function readMebibytes() {
  try {
    const words = ["--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0"];
    return Number(execFileSync("nvidia-smi", words, { timeout: 5_000 }));
  } catch {
    return null;
  }
}

async function turn(at) {
  const length = LENGTHS[at % LENGTHS.length] ?? 16;
  const ones = int64(new BigInt64Array(ROWS * length).fill(1n), [ROWS, length]);
  const feeds = { input_ids: ones, attention_mask: ones, token_type_ids: ones };
  for (const role of ["embedder", "reranker"]) await graphs.run(role, feeds);
}

const count = Math.max(1, Math.floor(Number(turns) / TENTHS));
for (let tenth = 0; tenth < TENTHS; tenth += 1) {
  const startedAt = performance.now();
  for (let at = 0; at < count; at += 1) await turn(at);
  const ms = (performance.now() - startedAt) / count;
  process.stdout.write(
    `${JSON.stringify({ turns: (tenth + 1) * count, ms, mebibytes: readMebibytes() })}\n`,
  );
}
await graphs.close();
