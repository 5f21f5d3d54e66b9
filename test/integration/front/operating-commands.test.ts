import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  claim,
  createJob,
  type Harness,
  makeClip,
  MODEL,
  startHarness,
} from "../../support/front-harness.js";

const ENTRY = fileURLToPath(new URL("../../../dist/bin/framemill.js", import.meta.url));
const ESCAPE = "\u001b";

describe("the command line, beside a running front", () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness("postgres");
  });
  afterAll(async () => await harness?.close());

  async function framemill(...words: readonly string[]) {
    const env = { ...process.env, DATABASE_URL: harness.config.databaseUrl };
    const ended = await promisify(execFile)(process.execPath, [ENTRY, ...words], { env }).catch(
      (thrown: object) => ({ stdout: "", stderr: "", code: -1, ...thrown }),
    );
    return { code: 0, ...ended };
  }

  it("ends without a word when nobody reads on", async () => {
    const unread = `"$0" "$1" --help | true`;
    const ended = promisify(execFile)("sh", ["-c", unread, process.execPath, ENTRY]);
    expect(await ended).toEqual({ stdout: "", stderr: "" });
  });

  it("lists, shows, cancels and retries jobs, and says which cannot be retried", async () => {
    const { front, account } = harness;
    const done = await makeClip(harness, account.key);
    const failed = await createJob(front, account.key);
    await front.handlers.fail({
      ...(await claim(front, failed)),
      failure: { code: "encoder_failed", message: "ffmpeg left with 1" },
      retryable: false,
      gpuMs: 70,
    });
    const [listed, shown] = await Promise.all([
      framemill("jobs", "--json", "--limit", "1"),
      framemill("jobs", "show", failed),
    ]);
    expect(JSON.parse(listed.stdout)).toMatchObject([
      { id: failed, failureCode: "encoder_failed" },
    ]);
    expect(shown.stdout).toMatch(/failure +encoder_failed: ffmpeg left with 1/);
    expect(shown.stdout).toMatch(/1 +worker-1 +encoder_failed +0\.1/);
    const { stdout } = await framemill("jobs", "retry", failed, "--json");
    const again = String(JSON.parse(stdout).id);
    const [cancelled, refused] = await Promise.all([
      framemill("jobs", "cancel", again, done),
      framemill("jobs", "retry", done),
    ]);
    expect(cancelled).toMatchObject({
      code: 1,
      stdout: `${again} is cancelled\n${done} had ended\n`,
    });
    expect(refused).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `framemill: only a failed job can be done over, ${done} is completed\n`,
    });
  });

  it("shows usage, and one plain overview where there is no terminal", async () => {
    const { project } = harness.account;
    const [usage, { stdout }] = await Promise.all([
      framemill("usage", "--project", project.id, "--json"),
      framemill("top"),
    ]);
    expect(JSON.parse(usage.stdout)).toMatchObject([{ model: MODEL, units: { videoSeconds: 4 } }]);
    expect(stdout).toMatch(/^model +queued +running/);
    expect(stdout).toContain(MODEL);
    expect(stdout).toMatch(/^front +state +gRPC address +callers waiting/m);
    expect(stdout).not.toContain(ESCAPE);
  });

  it.concurrent.each([
    [["jobs", "list", "--limit", "0"], /must be 1 to 1000, got 0/],
    [["jobs", "list", "--since", "yore"], /7d ago, got yore/],
    [["jbos"], /Did you mean jobs/],
    [["simulate-scaling", "--mix", "fast"], /--mix must be tier=share:seconds, .* got fast/],
  ])("ends %j with code 2 and says why", async (words, reason) => {
    const { code, stdout, stderr } = await framemill(...words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(reason);
  });
});
