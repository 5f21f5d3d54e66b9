// Writes the reference of the compiled command line into docs/commands.md; a unit test holds the two together.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createProgram } from "../dist/bin/program.js";
import { withReference } from "./commands-reference.mjs";
import { root } from "./packages.mjs";

const page = join(root, "docs", "commands.md");
await writeFile(page, withReference(await readFile(page, "utf8"), await createProgram()));
