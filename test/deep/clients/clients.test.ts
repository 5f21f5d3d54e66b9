import { execFile } from "node:child_process";
import { appendFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLIENTS, type closingTable, isPython, prepareClient } from "../../../scripts/clients.mjs";
import { describeWithPython } from "../../support/python.js";
import {
  type Environment,
  environmentOf,
  runCommand,
  startUp,
  type ServiceProcesses,
} from "../../support/service-harness.js";
import { EXPECTED } from "./expected.js";

const tokenizer = fileURLToPath(new URL("../../../models/service-chat-1", import.meta.url));
/** A client that is installed first, on a machine that has other tests to run. */
const timeout = 600_000;

/** They send no key of their own, and keep to no limits. */
const INSTRUMENTS = CLIENTS.filter((name) => /^(aiperf|guidellm|vllm-.*)$/.test(name));

type Facts = Readonly<Record<string, unknown>>;

describe("unmodified clients", () => {
  const service = serviceFor({
    MODELS: "",
    MODEL_ALIASES: "gpt-4o-mini=service-chat-1",
    ...many(),
  });
  let spentKey = "";
  beforeAll(async () => {
    const env = environmentOf(service.folder, {});
    spentKey = (await runCommand(["keys", "create", "--project", "spent"], env)).trim();
    await runCommand(["projects", "set", "spent", "--monthly-limit", "0.000001"], env);
  });
  const named = CLIENTS.filter((name) => !INSTRUMENTS.includes(name));
  const holds = (name: string) =>
    test(`${name}: answers come to what its users expect`, { timeout }, async () => {
      const { baseUrl, apiKey } = service.up;
      const own = { CO_API_URL: new URL(baseUrl).origin, CO_API_KEY: apiKey };
      const env = { ...environmentTo(service.up), ...own, SPENT_API_KEY: spentKey };
      expect(await tryClient(name, env)).toEqual(EXPECTED[name]);
    });
  for (const name of named.filter((one) => !isPython(one))) holds(name);
  describeWithPython("in Python", () => {
    for (const name of named.filter(isPython)) holds(name);
  });
});

describeWithPython("unmodified instruments", () => {
  const service = serviceFor({ MODELS: "" }, ["--no-limits"]);
  for (const name of INSTRUMENTS)
    test(`${name}: answers come to what its users expect`, { timeout }, async () => {
      const own = { OPENAI_API_KEY: "EMPTY", TOKENIZER: tokenizer };
      const env = { ...environmentTo(service.up), ...own };
      expect(await tryClient(name, env)).toEqual(EXPECTED[name]);
    });
});

/** A service of its own for the tests of a group. */
function serviceFor(environment: Environment, flags: readonly string[] = []) {
  const service = { folder: "", up: undefined as unknown as ServiceProcesses };
  beforeAll(async () => {
    service.folder = await mkdtemp(join(tmpdir(), "framemill-clients-"));
    service.up = await startUp(service.folder, { environment, flags });
  });
  afterAll(async () => {
    await service.up?.stop();
    await rm(service.folder, { recursive: true, force: true });
  });
  return service;
}

function many(): Environment {
  const count = String(1e8);
  return { REQUESTS_PER_MINUTE: count, TOKENS_PER_MINUTE: count };
}

/** What a program needs to find the service; anything beyond this machine is behind a proxy that is not there. */
function environmentTo({ baseUrl, apiKey }: ServiceProcesses): NodeJS.ProcessEnv {
  const nowhere = "http://127.0.0.1:9";
  return {
    ...process.env,
    OPENAI_BASE_URL: baseUrl,
    OPENAI_API_KEY: apiKey,
    HTTP_PROXY: nowhere,
    HTTPS_PROXY: nowhere,
    NO_PROXY: "127.0.0.1,localhost",
    PYTHONDONTWRITEBYTECODE: "", // where it is set, every process compiles its packages anew
  };
}

/** The facts that a client's program prints; what they came to is noted, also where there are none. */
async function tryClient(name: string, env: NodeJS.ProcessEnv): Promise<Facts> {
  const started = performance.now();
  const expected = EXPECTED[name] ?? {};
  const end = { version: "", reason: "" };
  try {
    const [program = "", ...words] = await prepareClient(name);
    const { stdout } = await promisify(execFile)(program, words, { env, maxBuffer: 1e8 });
    // Some libraries print on their own.
    const { version, ...facts } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Facts;
    end.version = String(version);
    end.reason = Object.keys({ ...expected, ...facts })
      .filter((fact) => !isAsExpected(facts[fact], expected[fact]))
      .join(", ");
    return facts;
  } catch (error) {
    end.reason = lastLine(error);
    throw error;
  } finally {
    const seconds = (performance.now() - started) / 1_000;
    await note({ client: name, checks: Object.keys(expected).length, seconds, ...end });
  }
}

function isAsExpected(fact: unknown, expected: unknown): boolean {
  try {
    expect(fact).toEqual(expected);
    return true;
  } catch {
    return false;
  }
}

/** What a program said last, which is why it ended. */
function lastLine(error: unknown): string {
  const { stderr = "", message } = error as Error & { stderr?: string };
  return (stderr.trim() || message).split("\n").at(-1)?.slice(0, 200) ?? "";
}

/** Printed, and collected where `npm run test:clients` makes a table of them. */
async function note(verdict: Parameters<typeof closingTable>[0][number]): Promise<void> {
  process.stdout.write(`${JSON.stringify(verdict)}\n`);
  const out = process.env["CLIENTS_OUT"];
  if (out === undefined) return;
  await mkdir(out, { recursive: true });
  await appendFile(join(out, "verdicts.jsonl"), `${JSON.stringify(verdict)}\n`);
}
