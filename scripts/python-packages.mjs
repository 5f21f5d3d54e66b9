// Python packages that tests import, each set in a folder of its own.
import { createHash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readText, root } from "./packages.mjs";
import { mustRun } from "./processes.mjs";

/** What is asked for, and all that comes with it, so that tests run what was tried. */
const SETS = {
  examples: ["examples/requirements.txt", "scripts/python-examples.txt"],
  openapi: ["test/deep/openapi/requirements.txt", "scripts/python-openapi.txt"],
};

/** Installs a set, unless that is what is there; the folder for PYTHONPATH. */
export async function installPythonPackages(name) {
  const [requirements, constraints] = SETS[name].map((file) => join(root, file));
  const folder = join(root, ".cache", `python-${name}`);
  const stamp = join(folder, ".framemill-install");
  const named = await Promise.all([readFile(requirements), readFile(constraints)]);
  const wanted = createHash("sha256").update(Buffer.concat(named)).digest("hex");
  if ((await readText(stamp)) === wanted) return folder;
  await rm(folder, { recursive: true, force: true });
  const how = ["--quiet", "--disable-pip-version-check", "--no-compile", "--only-binary=:all:"];
  const what = ["--requirement", requirements, "--constraint", constraints, "--target", folder];
  const sentence = `pip could not install the Python packages of the ${name} tests.`;
  await mustRun(sentence, "python3", ["-m", "pip", "install", ...how, ...what]);
  await writeFile(stamp, wanted);
  return folder;
}
