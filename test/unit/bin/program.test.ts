import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { createProgram } from "#framemill/bin/program.js";
import { withReference } from "../../../scripts/commands-page.mjs";

const PAGE = fileURLToPath(new URL("../../../docs/commands.md", import.meta.url));

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
});
