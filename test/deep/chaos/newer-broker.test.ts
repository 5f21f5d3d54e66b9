import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { countOf, noteVerdict, type Verdict } from "./verdicts.js";

const MINUTE_MS = 60_000;
const RELEASE = "4.3";
const CHAOS = "test/deep/chaos";
const bootstrap = fileURLToPath(new URL("../../../scripts/bootstrap.mjs", import.meta.url));
const FIRST_TWENTY = Array.from({ length: 20 }, (_, index) => `T${index + 1}`);
/** The trials that take the broker away, and those that damage what it carries; or all. */
const TRIALS: readonly string[] = {
  short: [`${CHAOS}/broker.test.ts`, `${CHAOS}/corrupted-messages.test.ts`],
  full: FIRST_TWENTY,
}[process.env["CHAOS_FORM"] === "full" ? "full" : "short"];

it("T38: holds on the newer broker, too", { timeout: 90 * MINUTE_MS }, async () => {
  const out = await mkdtemp(join(tmpdir(), "framemill-newer-broker-"));
  try {
    const queue = await run(["test", "test/integration/queue"], out);
    const chaos = await run(["chaos", ...TRIALS], out);
    const text = await readFile(join(out, "verdicts.jsonl"), "utf8");
    const verdicts = text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Verdict);
    const broken = verdicts.filter((verdict) => !verdict.holds);
    const promises = new Set(verdicts.map(({ promise }) => promise));
    const holds = queue.code + chaos.code + broken.length === 0;
    await noteVerdict({
      promise: "T38",
      injected: `RabbitMQ ${RELEASE}: tests of the queue, trials of ${[...promises].join(", ")}`,
      counted: `tests of the queue ${queue.counts}; ${verdicts.length} verdicts, broken ${broken.length}`,
      holds,
    });
    expect(holds, `${queue.output}\n${chaos.output}`).toBe(true);
    expect(promises.size).toBeGreaterThanOrEqual(countOf({ short: 3, full: 20 }));
  } finally {
    await rm(out, { recursive: true, force: true });
  }
});

interface Ended {
  readonly code: number;
  /** `N passed, N failed, N skipped`. */
  readonly counts: string;
  readonly output: string;
}

/** One of the project's commands, on a broker of its own. */
async function run(words: readonly string[], out: string): Promise<Ended> {
  const { AMQP_URL: _url, RABBITMQ_API_URL: _api, RABBITMQCTL: _ctl, ...rest } = process.env;
  const env = { ...rest, RABBITMQ_RELEASE: RELEASE, CHAOS_OUT: out, CHAOS_FORM: "short" };
  const options = { env, maxBuffer: 100_000_000 };
  const { code, output } = await promisify(execFile)(
    process.execPath,
    [bootstrap, ...words],
    options,
  ).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    (failed) => ({ code: Number(failed.code) || 1, output: `${failed.stdout}${failed.stderr}` }),
  );
  const counts = /^\d+ passed, \d+ failed.*$/m.exec(output)?.[0] ?? "no count";
  return { code, counts, output };
}
