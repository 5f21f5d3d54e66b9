import { readFile } from "node:fs/promises";
import { UsageError } from "../../../src/bin/option-values.js";
import type { Config } from "../../../src/config.js";
import { messageOf } from "../../../src/core/errors.js";
import type { SuiteOptions } from "../bench.js";
import { type BenchResult, type BenchRow, machine, type Unmeasured } from "../report/measure.js";
import { clipRows } from "./clips.js";
import { embeddingRows } from "./embeddings.js";
import { idleRows } from "./idle.js";
import { PEERS_FOLDER, installPeers, type PeerFiles, peerProgram } from "./install.js";
import { jobRows } from "./jobs.js";
import type { PeerRows } from "./subject.js";
import { tokenRows } from "./tokens.js";

/** Rounds from which each side's noise against itself is known. */
const ROUNDS = 4;

interface Group {
  /** What both sides have in common, and what not. */
  readonly equal: string;
  readonly unequal: string;
  run(config: Config, files: PeerFiles, rounds: number): Promise<PeerRows>;
}

const GROUPS: Readonly<Record<string, Group>> = {
  tokens: {
    equal: "weights bit by bit, tokenizer, template, prompts, number of tokens, client, threads",
    unequal:
      "Framemill checks keys, charges and keeps a ledger; genai has Python's HTTP in front; llama.cpp has its own file format (Q4_0) and kernels",
    run: async (...given) => ({ rows: await tokenRows(...given) }),
  },
  clips: {
    equal: "graphs, seed, prompt, x264's settings, ffmpeg, threads",
    unequal:
      "Framemill writes previews, checks its file, levels the sound and answers over HTTP; the script does none of it",
    run: async (...given) => ({ rows: await clipRows(...given) }),
  },
  embeddings: {
    equal: "ONNX file, tokenizer, texts, client, one thread, batches of at most 32",
    unequal: "Framemill checks keys, charges and keeps a ledger; LitServe waits 5 ms for a batch",
    run: async (...given) => ({ rows: await embeddingRows(...given) }),
  },
  jobs: {
    equal: "Postgres and its settings, jobs in flight",
    unequal:
      "a job of Framemill's comes over HTTP, is charged, goes through RabbitMQ and runs a graph of one token in another process; graphile-worker's is added and done in one process",
    run: jobRows,
  },
  idle: {
    equal: "nothing: held against a limit",
    unequal: "all models of MODELS_DIR are served",
    run: async (config, _files, rounds) => ({ rows: await idleRows(config, rounds) }),
  },
};

/** Framemill beside what a user would pick instead, in turns in one run. */
export async function runPeers(
  config: Config,
  rounds: number,
  { peers = PEERS_FOLDER, only = Object.keys(GROUPS), quick = false }: SuiteOptions,
): Promise<BenchResult> {
  const chosen = only.map((name) => {
    const group = GROUPS[name];
    if (group !== undefined) return { name, ...group };
    throw new UsageError(`--only takes ${Object.keys(GROUPS).join(", ")}, not ${name}`);
  });
  const files = await installPeers(peers);
  const turns = quick ? rounds : Math.max(rounds, ROUNDS);
  const rows: BenchRow[] = [];
  const unmeasured: Unmeasured[] = [];
  const groupConditions: BenchResult["conditions"][] = [];
  for (const group of chosen) {
    const { name } = group;
    process.stderr.write(`peers: ${name}\n`);
    try {
      const measured = await group.run(config, files, turns);
      rows.push(...measured.rows);
      groupConditions.push(measured.conditions ?? {});
    } catch (thrown) {
      unmeasured.push({ what: name, why: messageOf(thrown) });
    }
  }
  const conditions = {
    ...machine(),
    ...(await peerVersions()),
    threads: config.threads,
    rounds: turns,
    ...Object.fromEntries(groupConditions.flatMap((one) => Object.entries(one))),
  };
  const counts = chosen.map(({ name, equal, unequal }) => ({
    rows: name,
    equal,
    "not equal": unequal,
  }));
  return { suite: "peers", conditions, rows, counts, unmeasured };
}

const NAMED = new Set(["onnxruntime", "onnxruntime-genai", "xllamacpp", "litserve"]);

async function peerVersions(): Promise<Record<string, string>> {
  const text = await readFile(peerProgram("requirements.txt"), "utf8");
  const pinned = text.split("\n").map((line) => line.split("=="));
  return Object.fromEntries(pinned.filter(([name = ""]) => NAMED.has(name)));
}
