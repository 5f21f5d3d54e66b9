import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { closingLine } from "../../scripts/closing-line.mjs";

const bootstrap = script("bootstrap.mjs");

describe("bootstrap", () => {
  it("names its commands when it is given another", () => {
    const { status, stderr } = spawnSync(process.execPath, [bootstrap, "dance"], {
      encoding: "utf8",
    });
    expect(status).toBe(2);
    expect(stderr).toBe(
      'Give one of demo, bench, framemill, test, test:unit, test:deep, test:clients, chaos, pack, check, not "dance".\n',
    );
  });

  it("passes the exit code of a command through", async () => {
    const parent = node(`
      const { passThrough } = await import(${quoted("processes.mjs")});
      process.exitCode = await passThrough(process.execPath, ["-e", "process.exit(7)"]);
    `);
    expect(await once(parent, "exit")).toEqual([7, null]);
  });

  it("passes a signal on to the command and ends with it", async () => {
    const parent = node(`
      const { passThrough } = await import(${quoted("processes.mjs")});
      const child = "process.on('SIGTERM', () => process.exit(5)); console.log('up'); setInterval(() => {}, 1000)";
      process.exitCode = await passThrough(process.execPath, ["-e", child]);
    `);
    await once(parent.stdout, "data");
    parent.kill("SIGTERM");
    expect(await once(parent, "exit")).toEqual([5, null]);
  });

  it("leaves no server and no folder when it is killed", async () => {
    const parent = node(`
      const { openReaper } = await import(${quoted("reaper.mjs")});
      const { folder, start } = await openReaper();
      const server = start("sleep", ["600"], { stdio: "ignore" });
      console.log(JSON.stringify({ folder, pid: server.pid }));
      setInterval(() => {}, 1000);
    `);
    const [line] = await once(parent.stdout, "data");
    const { folder, pid } = JSON.parse(String(line)) as { folder: string; pid: number };
    expect(existsSync(folder)).toBe(true);
    parent.kill("SIGKILL");
    await expect.poll(() => existsSync(folder), { timeout: 60_000 }).toBe(false);
    expect(isRunning(pid)).toBe(false);
  });
});

describe("the closing line", () => {
  const report = (...files: readonly (readonly string[])[]) =>
    JSON.stringify({
      numPassedTests: files.flat().filter((status) => status === "passed").length,
      testResults: files.map((statuses) => ({
        status: statuses.length === 0 || statuses.includes("failed") ? "failed" : "passed",
        assertionResults: statuses.map((status) => ({ status })),
      })),
    });

  it("counts passed and failed tests", () => {
    expect(closingLine(report(["passed", "failed"], ["passed"]), 1)).toBe("2 passed, 1 failed");
  });

  it("mentions skipped tests only where there are some", () => {
    expect(closingLine(report(["passed", "pending", "todo"]), 0)).toBe(
      "1 passed, 0 failed, 2 skipped",
    );
  });

  it("counts a file that could not be loaded as failed", () => {
    expect(closingLine(report(["passed"], []), 1)).toBe("1 passed, 1 failed");
  });

  it("never says 0 failed for a run that failed", () => {
    expect(closingLine(report(["passed"]), 1)).toBe("1 passed, 1 failed");
    expect(closingLine(undefined, 137)).toBe("0 passed, 1 failed");
  });
});

function script(name: string): string {
  return fileURLToPath(new URL(`../../scripts/${name}`, import.meta.url));
}

function quoted(name: string): string {
  return JSON.stringify(new URL(`../../scripts/${name}`, import.meta.url).href);
}

function node(program: string) {
  return spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** A process that has ended but that nobody has waited for counts as ended. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !readFileSync(stat, "utf8").includes(") Z ");
}
