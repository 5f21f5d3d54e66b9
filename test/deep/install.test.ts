import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

/** The README's promise: what an installation takes on the disk, all packages included. */
const MOST_BYTES = 450e6;

/** As a stranger's shell: without what npm says to the scripts of this checkout. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_PATH|VITEST|DATABASE_URL|AMQP_URL)/.test(name),
  ),
);

describe("the tarball of npm run pack, in an empty folder", () => {
  let folder: string;
  let cache: string;
  let tarball: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-install-"));
    cache = await mkdtemp(join(tmpdir(), "framemill-npm-"));
    const { stdout } = await run(
      "npm",
      ["run", "--silent", "pack", "--", "--pack-destination", folder],
      { cwd: root },
    );
    tarball = `./${stdout.trim()}`;
  });
  afterAll(async () => {
    for (const path of [folder, cache]) await rm(path, { recursive: true, force: true });
  });

  const options = () => ({ cwd: folder, env: { ...environment, npm_config_cache: cache } });
  const npx = (...args: string[]) => run("npx", ["--yes", tarball, ...args], options());

  test("makes a clip with npx, in the megabytes that the README promises", async () => {
    const { stdout } = await npx("demo", "--quality", "fast", "--json");
    const { resolution, path } = z
      .object({ resolution: z.string(), path: z.string() })
      .parse(JSON.parse(stdout));
    expect(resolution).toBe("1280x720");
    expect(await codecsOf(path)).toBe("h264");
    const { stdout: kilobytes } = await run("du", ["-sk", join(cache, "_npx")]);
    expect(Number.parseInt(kilobytes) * 1_024).toBeLessThan(MOST_BYTES);
  });

  test("serves with npx, is ready, and makes a clip for who asks", async () => {
    const up = spawn("npx", ["--yes", tarball, "up", "--port", "0"], {
      ...options(),
      env: { ...options().env, GRPC_PORT: "0", WORKER_PORT: "0" },
      detached: true,
      stdio: "ignore",
    });
    onTestFinished(() => end(up));
    const endpoint = z.object({ baseUrl: z.string() });
    const { baseUrl } = await vi.waitFor(
      async () =>
        endpoint.parse(JSON.parse(await readFile(join(folder, ".framemill/dev.json"), "utf8"))),
      { timeout: 60_000, interval: 250 },
    );
    expect((await fetch(new URL("/readyz", baseUrl))).status).toBe(200);
    expect(await (await fetch(new URL("/playground", baseUrl))).text()).toContain("<title>");
    await npx("generate", "a fox in the snow", "--out", "fox.mp4");
    expect(await codecsOf(join(folder, "fox.mp4"))).toBe("h264,aac");
  });
});

async function codecsOf(file: string): Promise<string> {
  const entries = ["-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0", file];
  const { stdout } = await run(process.env["FFPROBE_PATH"] ?? "ffprobe", entries);
  return stdout.trim().split("\n").join(",");
}

/** npx hands no signal on: the whole group gets it. */
async function end(up: ChildProcess): Promise<void> {
  if (up.pid === undefined || up.exitCode !== null) return;
  const exited = once(up, "exit");
  process.kill(-up.pid, "SIGTERM");
  await exited;
}
