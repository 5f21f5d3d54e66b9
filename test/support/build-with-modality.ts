import { appendFile, cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface AddedModality {
  /** Its export, and its folder below `modalities`. */
  readonly name: string;
  /** Folder of its TypeScript; its types are checked with the tests'. */
  readonly source: string;
}

/** The service with one folder more and one line more for each, in `folder`; resolves to its command line. */
export async function buildWithModalities(
  folder: string,
  added: readonly AddedModality[],
): Promise<string> {
  const copy = await copyBuild(folder);
  for (const { name, source } of added) {
    await compileFolder(source, join(copy, "dist/modalities", name));
    await appendFile(
      join(copy, "dist/modalities/index.js"),
      `\nexport { ${name} } from "./${name}/index.js";`,
    );
  }
  return join(copy, "dist/bin/framemill.js");
}

export interface AddedArchitecture {
  /** Its folder below `models`. */
  readonly name: string;
  /** Folder of its TypeScript. */
  readonly source: string;
  /** Its import of the layout, and its row in the registry. */
  readonly lines: readonly [layout: string, row: string];
}

/** The same with one architecture more. */
export async function buildWithArchitecture(
  folder: string,
  { name, source, lines: [layout, row] }: AddedArchitecture,
): Promise<string> {
  const copy = await copyBuild(folder);
  await compileFolder(source, join(copy, "dist/models", name));
  const registry = join(copy, "dist/models/registry.js");
  const text = await readFile(registry, "utf8");
  const rows = text.replace("const ARCHITECTURES = [", (found) => `${found}\n    ${row}`);
  await writeFile(registry, `${layout}\n${rows}`);
  return join(copy, "dist/bin/framemill.js");
}

async function copyBuild(folder: string): Promise<string> {
  const copy = join(folder, "framemill");
  for (const part of ["dist", "proto", "package.json"])
    await cp(join(root, part), join(copy, part), { recursive: true });
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
}

async function compileFolder(source: string, target: string): Promise<void> {
  await mkdir(target);
  for (const file of await readdir(source)) {
    const text = await readFile(join(source, file), "utf8");
    const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023 };
    const { outputText } = ts.transpileModule(text, { compilerOptions });
    await writeFile(join(target, file.replace(/ts$/, "js")), outputText);
  }
}
