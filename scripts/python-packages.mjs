// Python packages that tests import, each set in an environment of its own.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readText, root } from "./packages.mjs";
import { capture, mustRun } from "./processes.mjs";

/** What is asked for, and all that comes with it, so that tests run what was tried. */
const SETS = {
  examples: ["examples/requirements.txt", "scripts/python-examples.txt"],
  openapi: ["test/deep/openapi/requirements.txt", "scripts/python-openapi.txt"],
  provenance: ["test/deep/provenance/requirements.txt", "scripts/python-provenance.txt"],
};
/** Installs many times faster than pip, and keeps one copy of what several sets have. */
const UV = "uv==0.13.9";
/** Debian's own: the only one for which Debian's packages are there. */
const SYSTEM_PYTHON = "/usr/bin/python3";

/**
 * Makes the environment of a set, unless that is what is there.
 * @param {string} name of SETS, or of a folder of test/deep/clients
 * @returns {Promise<string>} its `bin` folder
 */
export async function installPythonPackages(name) {
  const files = (SETS[name] ?? [`${clientFolder(name)}/requirements.txt`]).map(inRoot);
  const folder = join(root, ".cache", `python-${name}`);
  const bin = join(folder, "bin");
  const stamp = join(folder, ".framemill-install");
  const named = await Promise.all(files.map((file) => readFile(file)));
  const wanted = createHash("sha256").update(UV).update(Buffer.concat(named)).digest("hex");
  if ((await readText(stamp)) === wanted) return bin;
  await rm(folder, { recursive: true, force: true });
  const uv = await openUv(`the Python packages of the ${name} tests`);
  // What a set leaves out stands in Debian's own packages.
  const leavesOut = existsSync(excludesOf(name));
  const python = leavesOut
    ? ["--system-site-packages", "--python", SYSTEM_PYTHON]
    : ["--python", "python3"];
  await uv(["venv", ...python, folder]);
  const what = files.flatMap((file) => ["--requirement", file]);
  await uv(["pip", "install", "--no-deps", "--no-build", "--python", folder, ...what]);
  await writeFile(stamp, wanted);
  return bin;
}

/** Writes down the newest versions of a client's packages, and of all that comes with them. @param {string} name */
export async function lockPythonPackages(name) {
  const uv = await openUv(`the newest Python packages of ${name}`, {
    UV_CUSTOM_COMPILE_COMMAND: "npm run test:clients -- --newest",
  });
  const folder = clientFolder(name);
  const without = existsSync(excludesOf(name)) ? ["--excludes", excludesOf(name)] : [];
  const how = ["--universal", "--python-version", "3.11", "--no-build", "--no-annotate"];
  const [from, to] = [`${folder}/requirements.in`, `${folder}/requirements.txt`];
  await uv(["pip", "compile", "--upgrade", ...how, ...without, from, "--output-file", to]);
}

function clientFolder(name) {
  return `test/deep/clients/${name}`;
}

function excludesOf(name) {
  return inRoot(`${clientFolder(name)}/excludes.txt`);
}

function inRoot(file) {
  return join(root, file);
}

/** uv, which goes where pip goes. */
async function openUv(what, own = {}) {
  const place = join(root, ".cache", UV.replace("==", "-"));
  const program = join(place, "bin", "uv");
  if (!existsSync(program)) {
    const how = ["--quiet", "--disable-pip-version-check", "--only-binary=:all:"];
    const words = ["-m", "pip", "install", ...how, "--target", place, UV];
    await mustRun("pip could not install uv.", "python3", words);
  }
  const env = {
    ...process.env,
    UV_CACHE_DIR: join(root, ".cache", "uv"),
    UV_PYTHON_DOWNLOADS: "never",
    ...(await settingsOfPip()),
    ...own,
  };
  return (words) =>
    mustRun(`uv could not install ${what}.`, program, ["--quiet", ...words], { cwd: root, env });
}

/** A registry and certificates of this machine's own are known to pip; uv reads neither its file nor its variables. */
async function settingsOfPip() {
  const { output } = await capture("python3", ["-m", "pip", "config", "list"]);
  const [index, certificates] = ["index-url", "cert"].map(
    (name) => new RegExp(String.raw`^\S+\.${name}='(.+)'$`, "m").exec(output)?.[1],
  );
  return {
    ...(index && { UV_DEFAULT_INDEX: index }),
    ...(certificates && { SSL_CERT_FILE: certificates }),
  };
}
