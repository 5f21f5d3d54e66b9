// The locked npm packages and the compiled code, made only when something changed.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { mustRun } from "./processes.mjs";
import { generateRpcTypes } from "./rpc-types.mjs";
import { Refusal, step } from "./steps.mjs";

/** The repository's folder. */
export const root = fileURLToPath(new URL("..", import.meta.url));

const installStamp = join(root, "node_modules", ".framemill-install");
const buildStamp = join(root, "dist", ".framemill-build");

/** Refuses a Node older than package.json's engines. */
export async function requireNode() {
  const { engines } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const [major, minor] = engines.node.match(/\d+/g).map(Number);
  const [haveMajor, haveMinor] = process.versions.node.split(".").map(Number);
  if (haveMajor < major || (haveMajor === major && haveMinor < minor))
    throw new Refusal(
      `Framemill needs Node ${major}.${minor} or newer, this is ${process.version}.`,
    );
}

/** Installs exactly what package-lock.json names, unless that is what is there. */
export async function installPackages() {
  const lock = await readFile(join(root, "package-lock.json"));
  const wanted = `${sha256(lock)} node${process.versions.node.split(".")[0]} ${process.platform}-${process.arch}`;
  if ((await readText(installStamp)) === wanted) return;
  if (!(await isInstalled(JSON.parse(lock))))
    await step("Installing the locked npm packages", () =>
      npm("npm could not install the packages.", ["ci", "--no-fund", "--no-audit"]),
    );
  await writeFile(installStamp, wanted);
}

/** Runs npm without install scripts. @param {string} sentence @param {readonly string[]} args */
export async function npm(sentence, args) {
  const viaNpm = process.env["npm_execpath"]?.includes("npm-cli")
    ? process.env["npm_execpath"]
    : undefined;
  const [command, first] = viaNpm ? [process.execPath, [viaNpm]] : ["npm", []];
  const quiet = ["--ignore-scripts", "--loglevel=error"];
  return mustRun(sentence, command, [...first, ...args, ...quiet], { cwd: root });
}

/** Whether npm's own record of node_modules has every locked version. */
async function isInstalled(lock) {
  const record = await readText(join(root, "node_modules", ".package-lock.json"));
  if (record === undefined) return false;
  const { packages } = JSON.parse(record);
  return Object.entries(lock.packages).every(
    ([path, { version, optional }]) =>
      path === "" || (optional && !packages[path]) || packages[path]?.version === version,
  );
}

/** Compiles src and web to dist, and bench to its own, unless nothing it reads changed since. */
export async function build() {
  generateRpcTypes();
  const wanted = await fingerprint([
    "src",
    "web",
    "bench/src",
    "bench/build.mjs",
    "tsconfig.json",
    "package.json",
    "package-lock.json",
  ]);
  if ((await readText(buildStamp)) === wanted) return;
  await step("Compiling", async () => {
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    await mustRun("The code does not compile.", process.execPath, [tsc, "-p", "tsconfig.json"], {
      cwd: root,
    });
    await removeStale();
    await mustRun("The pages cannot be built.", process.execPath, [
      join(root, "scripts", "build-assets.mjs"),
    ]);
    await mustRun("The bench cannot be built.", process.execPath, [
      join(root, "bench", "build.mjs"),
    ]);
    await mkdir(join(root, "dist"), { recursive: true });
    await writeFile(buildStamp, wanted);
  });
}

/** Deletes compiled files whose source is gone. */
async function removeStale() {
  const pages = join(root, "dist", "web");
  const compiled = (await filesUnder(join(root, "dist"))).filter(
    (file) => /\.(d\.ts|js)(\.map)?$/.test(file) && !file.startsWith(pages),
  );
  const sourceOf = (file) =>
    join(root, "src", relative(join(root, "dist"), file).replace(/\.(d\.ts|js)(\.map)?$/, ".ts"));
  await Promise.all(compiled.filter((file) => !existsSync(sourceOf(file))).map((file) => rm(file)));
}

/** Hash of paths, sizes and modification times. @param {readonly string[]} names */
async function fingerprint(names) {
  const files = (await Promise.all(names.map((name) => filesUnder(join(root, name))))).flat();
  const lines = await Promise.all(
    files.map(async (file) => {
      const { size, mtimeMs } = await stat(file);
      return `${relative(root, file)} ${size} ${mtimeMs}`;
    }),
  );
  return sha256(lines.toSorted().join("\n"));
}

async function filesUnder(path) {
  if (!(await stat(path)).isDirectory()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** A file's text, or undefined when it is not there. @param {string} file */
export async function readText(file) {
  return readFile(file, "utf8").catch(() => undefined);
}

function sha256(data) {
  return createHash("sha256").update(data).digest("hex");
}
