// Holds the documentation's commands to what they say: every block of shell and TypeScript must parse,
// and those marked `run` must end well (`--run`): in a scratch folder that looks like this repository,
// beside a service that `framemill up` started there. A block that does not is named by page and line.
import { cp, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import ts from "typescript";
import { moduleText, readBlocks, shellScript } from "./docs-blocks.mjs";
import { root } from "./packages.mjs";
import { capture } from "./processes.mjs";
import { startScratchService } from "./scratch-service.mjs";
import { say, secondsSince } from "./steps.mjs";

const SHELL = new Set(["sh", "bash"]);
const SCRIPT = new Set(["ts", "js"]);
/** What commands write, and what would not be this folder's own. */
const LEFT_OUT = new Set([".framemill", ".git", "bench-results", "package.json"]);

const blocks = readBlocks();
const problems = process.argv.includes("--run") ? await runAll() : await parseAll();
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.exitCode = problems.length > 0 ? 1 : 0;

async function parseAll() {
  const found = await Promise.all(blocks.map(problemsOf));
  const read = blocks.filter(({ language }) => SHELL.has(language) || SCRIPT.has(language));
  process.stdout.write(`${read.length} blocks of code read\n`);
  return found.flat();
}

async function problemsOf({ page, line, language, code }) {
  if (SCRIPT.has(language)) return syntaxErrors(page, line, code);
  if (!SHELL.has(language)) return [];
  const script = `${"\n".repeat(line - 1)}${code}\n`;
  const { code: exit, output } = await capture("bash", ["-n"], { input: script });
  return exit === 0 ? [] : [output.trim().replaceAll(/^bash: line (\d+)/gm, `${page}:$1`)];
}

function syntaxErrors(page, line, code) {
  const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ESNext };
  const { diagnostics } = ts.transpileModule(code, {
    compilerOptions: options,
    reportDiagnostics: true,
  });
  return diagnostics.map(({ file, start, messageText }) => {
    const at = line + file.getLineAndCharacterOfPosition(start).line;
    return `${page}:${at}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`;
  });
}

async function runAll() {
  const chosen = blocks.filter(isRunnable);
  const folder = await makeScratch();
  const service = await startScratchService(folder);
  try {
    const pages = groupByPage(chosen);
    const found = [];
    for (const [page, own] of pages)
      found.push(...(await runPage({ folder, env: service.env }, page, own)));
    process.stdout.write(`${chosen.length} blocks of ${pages.size} pages run\n`);
    return found;
  } finally {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Marked, and what it needs is there; in CI it must be. */
function isRunnable({ page, line, marks }) {
  if (!marks.includes("run")) return false;
  const needed = marks.find((mark) => mark.startsWith("needs="))?.slice("needs=".length);
  if (needed === undefined || process.env[needed] || process.env["CI"]) return true;
  say(`skipped: ${page}:${line} needs ${needed} in the environment`);
  return false;
}

function groupByPage(chosen) {
  const pages = new Map();
  for (const block of chosen) pages.set(block.page, [...(pages.get(block.page) ?? []), block]);
  return pages;
}

/** A folder that commands may write to, with everything that git would have brought. */
async function makeScratch() {
  const folder = await mkdtemp(join(tmpdir(), "framemill-docs-"));
  await cp(join(root, "package.json"), join(folder, "package.json")); // npm works where this file lies
  const names = (await readdir(root)).filter((name) => !LEFT_OUT.has(name));
  await Promise.all(names.map((name) => symlink(join(root, name), join(folder, name))));
  return folder;
}

async function runPage({ folder, env }, page, own) {
  const started = performance.now();
  const shell = own.filter(({ language }) => SHELL.has(language));
  const script = own.filter(({ language }) => SCRIPT.has(language));
  const file = join(folder, page.replaceAll("/", "-"));
  const failed = [];
  if (shell.length > 0) {
    await writeFile(`${file}.sh`, shellScript(page, shell));
    failed.push(...(await runFile("bash", `${file}.sh`, { page, env, shownAs: page })));
  }
  if (script.length > 0) {
    await writeFile(`${file}.mjs`, moduleText(script));
    failed.push(...(await runFile(process.execPath, `${file}.mjs`, { page, env, shownAs: file })));
  }
  say(`${page}: ${own.length} blocks, ${failed.length} failed, ${secondsSince(started)} s`);
  return failed;
}

/** What a program that failed said, behind the line of the page that it names. */
async function runFile(program, file, { page, env, shownAs }) {
  const { code, output } = await capture(program, [file], { cwd: dirname(file), env });
  if (code === 0) return [];
  const named = output.split(`${shownAs}`).map((rest) => /^(?:\.mjs)?:(\d+)/.exec(rest)?.[1]);
  const line = named.find((number) => number !== undefined) ?? "?";
  return [`${page}:${line}: exit code ${code}\n${output.trim().split("\n").slice(-25).join("\n")}`];
}
