import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { loadConfig } from "#framemill/config.js";
import { type Stack, startStack } from "#framemill/bin/stack.js";

const deploy = (name: string) => fileURLToPath(new URL(`../../deploy/${name}`, import.meta.url));
/** Made by Prometheus itself. */
const ELSEWHERE = new Set(["up"]);
/** Words of the query language, functions and labels included: what is no metric of ours. */
const OURS = /\b(?:framemill|nodejs|process)_\w+/g;

interface Dashboard {
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
}

interface Alerts {
  readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[];
}

describe("what a running service tells Prometheus", () => {
  let folder: string;
  let stack: Stack;
  let text: string;
  let names: ReadonlySet<string>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-deploy-"));
    const free = { port: 0, grpcPort: 0, workerPort: 0, dataDir: folder };
    const environment = { MODELS: "service-embed-1", LOG_LEVEL: "silent" };
    stack = await startStack(loadConfig(free, environment));
    const { baseUrl, apiKey } = stack.endpoint;
    const answer = await fetch(`${baseUrl}/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "service-embed-1", input: "a red boat" }),
    });
    if (!answer.ok) throw new Error(await answer.text());
    const worker = () => scrape(`http://127.0.0.1:${stack.worker.healthPort}/metrics`);
    // The caller has the answer a moment before the worker has its receipt.
    const isReady = async () => {
      if (!(await worker()).includes('framemill_worker_state{state="ready"} 1'))
        throw new Error("the worker is busy still");
    };
    await vi.waitFor(isReady, { timeout: 20_000 });
    text = `${await scrape(`${stack.front.origin}/metrics`)}\n${await worker()}`;
    names = readNames(text);
  });
  afterAll(async () => {
    await stack?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test("holds every metric that the dashboard draws", async () => {
    const { panels } = JSON.parse(
      await readFile(deploy("grafana/framemill.json"), "utf8"),
    ) as Dashboard;
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expect(queries.length).toBeGreaterThan(20);
    expect(queries.flatMap(unknownIn)).toEqual([]);
  });

  test("holds every metric that an alert is about", async () => {
    const { groups } = parse(await readFile(deploy("prometheus/alerts.yaml"), "utf8")) as Alerts;
    const queries = groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
    expect(queries.length).toBeGreaterThan(10);
    expect(queries.flatMap(unknownIn)).toEqual([]);
  });

  test("counts a job from its acceptance to its charge", () => {
    const labels = 'modality="embeddings",model="service-embed-1"';
    for (const line of [
      "framemill_ledger_up 1",
      'framemill_jobs{model="service-embed-1",tier="",state="completed"} 1',
      'framemill_queue_age_seconds{model="service-embed-1"} 0',
      'framemill_attempts{outcome="completed"} 1',
      "framemill_charges 1",
      "framemill_unrecorded_usage 0",
      `framemill_worker_attempts_total{${labels},outcome="completed"} 1`,
      `framemill_worker_compute_seconds_count{${labels}} 1`,
      'framemill_worker_provider{provider="cpu"} 1',
      'framemill_worker_state{state="ready"} 1',
    ])
      expect(text.split("\n")).toContain(line);
  });

  function unknownIn(query: string): string[] {
    const used = [...query.matchAll(OURS)].map(([name]) => name);
    // A query of none of our metrics would pass unseen.
    if (used.length === 0 && !ELSEWHERE.has(query.match(/\bup\b/)?.[0] ?? "")) return [query];
    return used.filter((name) => !names.has(name));
  }
});

/** Series names: of a histogram those of its parts. */
function readNames(text: string): ReadonlySet<string> {
  const types = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  const parts = (name: string, type: string) =>
    type === "histogram" ? ["bucket", "sum", "count"].map((part) => `${name}_${part}`) : [name];
  return new Set(types.flatMap(([, name = "", type = ""]) => parts(name, type)));
}

async function scrape(url: string): Promise<string> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return await answer.text();
}
