// The Python packages that the examples in Python import, in a folder of their own.
import { createHash } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readText, root } from "./packages.mjs";
import { mustRun } from "./processes.mjs";

const folder = join(root, ".cache", "python-examples");
const stamp = join(folder, ".framemill-install");
const requirements = join(root, "examples", "requirements.txt");
const constraints = join(root, "scripts", "python-examples.txt");

/** Installs what examples/requirements.txt names, unless that is what is there; the folder for PYTHONPATH. */
export async function installPythonPackages() {
  const named = await Promise.all([readFile(requirements), readFile(constraints)]);
  const wanted = createHash("sha256").update(Buffer.concat(named)).digest("hex");
  if ((await readText(stamp)) === wanted) return folder;
  await rm(folder, { recursive: true, force: true });
  const how = ["--quiet", "--disable-pip-version-check", "--no-compile", "--only-binary=:all:"];
  const what = ["--requirement", requirements, "--constraint", constraints, "--target", folder];
  const sentence = "pip could not install the packages of the examples.";
  await mustRun(sentence, "python3", ["-m", "pip", "install", ...how, ...what]);
  await writeFile(stamp, wanted);
  return folder;
}
