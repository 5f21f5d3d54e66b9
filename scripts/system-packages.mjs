// The distribution's packages, where this machine lets us install them (root or passwordless sudo).
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { capture } from "./processes.mjs";
import { say, step } from "./steps.mjs";

const installScript = fileURLToPath(new URL("apt-install.sh", import.meta.url));

/** Full path of a program in PATH, or undefined. @param {string} name */
export function findProgram(name) {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

/** Whether a file is there and may be run. @param {string} file */
export function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * Installs Debian packages; false where that is not possible or did not work.
 * SYSTEM_PACKAGES=never keeps the machine as it is.
 * @param {readonly string[]} names
 */
export async function installSystemPackages(names) {
  if (names.length === 0) return true;
  const asRoot = await rootCommand();
  if (!asRoot) return false;
  return step(`Installing ${names.join(", ")} with apt-get`, async () => {
    const [command, ...args] = [...asRoot, "sh", installScript, ...names];
    const { code, output } = await capture(command, args);
    if (code !== 0)
      say(`apt-get did not succeed:\n${output.trimEnd().split("\n").slice(-5).join("\n")}`);
    return code === 0;
  });
}

/** Words to put before a command to run it as root, or undefined. */
async function rootCommand() {
  if (process.env["SYSTEM_PACKAGES"] === "never" || !findProgram("apt-get")) return undefined;
  if (process.getuid?.() === 0) return [];
  if (!findProgram("sudo")) return undefined;
  return (await capture("sudo", ["-n", "true"])).code === 0 ? ["sudo", "-n"] : undefined;
}
