import { execFile } from "node:child_process";
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import ts from "typescript";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const run = promisify(execFile);
/** What a front needs of a commit. */
const NEEDED = ["package.json", "src", "proto", "models/service-motion-1"];

/** Whether this checkout has the commit: a shallow clone has not. */
export async function hasCommit(commit: string): Promise<boolean> {
  return await run("git", ["-C", root, "cat-file", "-e", `${commit}^{commit}`]).then(
    () => true,
    () => false,
  );
}

/**
 * Compiles the sources of a commit, unchecked, into a folder; gives its command line. It shares the packages
 * of today: what only earlier releases need, kysely, is a development dependency.
 */
export async function buildCommit(commit: string, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const archive = join(folder, "commit.tar");
  await run("git", ["-C", root, "archive", "--output", archive, commit, ...NEEDED]);
  await run("tar", ["-xf", archive, "-C", folder]);
  await rm(archive);
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  const sources = join(folder, "src");
  for (const name of await readdir(sources, { recursive: true })) {
    if (name.endsWith(".sql")) await cp(join(sources, name), join(folder, "dist", name));
    if (!name.endsWith(".ts") || name.endsWith(".d.ts")) continue;
    const { outputText } = ts.transpileModule(await readFile(join(sources, name), "utf8"), {
      compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
    });
    const target = join(folder, "dist", name.replace(/ts$/, "js"));
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, outputText);
  }
  return join(folder, "dist/bin/framemill.js");
}
