import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { completionOf } from "#framemill/bin/completion.js";
import { createProgram } from "#framemill/bin/program.js";
import { withReference } from "../../../scripts/commands-reference.mjs";

const PAGE = fileURLToPath(new URL("../../../docs/commands.md", import.meta.url));
const ASK = 'COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _framemill; echo "${COMPREPLY[@]}"';

/** What bash would offer for the last of these words. */
async function offered(...words: readonly string[]): Promise<string[]> {
  const script = `${completionOf(await createProgram(), "bash")}\n${ASK}`;
  const { stdout } = await promisify(execFile)("bash", ["-c", script, "bash", ...words]);
  return stdout.trim().split(" ");
}

describe("the command tree", () => {
  it("is what docs/commands.md says it is", async () => {
    const page = await readFile(PAGE, "utf8");
    expect(page).toBe(withReference(page, await createProgram()));
    expect(page.length).toBeGreaterThan(10_000);
  });

  it("names the options of all commands in the help of each, and takes --data for --data-dir", async () => {
    for (const command of (await createProgram()).commands) {
      const help = command.helpInformation();
      expect(help).toContain("--data, --data-dir <folder>");
      expect(help).toContain("--models-dir <folder>");
    }
    const program = await createProgram();
    program.parseOptions(["--data", "elsewhere"]);
    expect(program.opts()).toEqual({ dataDir: "elsewhere" });
  });

  it("completes commands, options and their values in bash", async () => {
    expect(await offered("framemill", "jobs", "ca")).toEqual(["cancel"]);
    expect(await offered("framemill", "--data-dir", "x", "jobs", "list", "--sta")).toEqual([
      "--state",
    ]);
    expect(await offered("framemill", "up", "--da")).toEqual(["--data-dir"]);
    expect(await offered("framemill", "jobs", "list", "--state", "")).toEqual([
      "queued",
      "in_progress",
      "completed",
      "failed",
    ]);
  });

  it.each(["zsh", "fish"])("has every command in the completion of %s", async (shell) => {
    const script = completionOf(await createProgram(), shell);
    for (const { name, commands } of (await createProgram()).commands.map((command) => ({
      name: command.name(),
      commands: command.commands.map((sub) => sub.name()),
    }))) {
      expect(script).toContain(name);
      for (const sub of commands) expect(script).toContain(`${name} ${sub}`);
    }
  });
});
