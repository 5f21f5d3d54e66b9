// `npm run test:clients`: the clients that the service is tried with, each in an environment of its own, and
// the table of what they came to.
import { existsSync, readdirSync } from "node:fs";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { npm, readText, root } from "./packages.mjs";
import { installPythonPackages, lockPythonPackages } from "./python-packages.mjs";
import { Refusal, step } from "./steps.mjs";
import { aligned, forgetVerdicts, readVerdicts } from "./verdicts.mjs";

/** @typedef {{ client: string, version: string, checks: number, seconds: number, reason: string }} ClientVerdict */

const folder = join(root, "test", "deep", "clients");
const placeOf = (name) => join(folder, name);
/** A folder each: a program, and what it is installed from. */
export const CLIENTS = readdirSync(folder).filter((name) => !name.includes("."));

/**
 * Runs them all, or those that are named; `--newest` writes down the newest versions first. One that fails, or
 * was not tried, is a failure. Verdicts go to CLIENTS_OUT.
 * @param {readonly string[]} args
 */
export async function testClients(args) {
  const named = args.filter((arg) => arg !== "--newest");
  const unknown = named.find((name) => !CLIENTS.includes(name));
  if (unknown !== undefined)
    throw new Refusal(`There is no client "${unknown}", but ${CLIENTS.join(", ")}.`, 2);
  const wanted = named.length > 0 ? named : CLIENTS;
  const out = (process.env["CLIENTS_OUT"] ??= join(root, ".framemill", "clients"));
  await forgetVerdicts(out);
  if (args.includes("--newest")) for (const name of wanted) await lockClient(name);
  const { clients } = await import("./test.mjs");
  const code = await clients(["-t", `\\b(${wanted.join("|")}):`]);
  const { table, isGood } = closingTable(await readVerdicts(out), wanted);
  process.stdout.write(`\n${table}\n`);
  return isGood ? code : code || 1;
}

/** Whether a client is a program of Python. @param {string} name */
export function isPython(name) {
  return existsSync(join(placeOf(name), "client.py"));
}

/**
 * Makes a client's environment, unless that is what is there.
 * @param {string} name @returns {Promise<string[]>} the command that runs it
 */
export async function prepareClient(name) {
  const program = `client.${isPython(name) ? "py" : "mjs"}`;
  const from = (file) => join(placeOf(name), file);
  if (isPython(name)) return [join(await installPythonPackages(name), "python"), from(program)];
  // Node looks for packages from where the program lies.
  const place = join(root, ".cache", `node-${name}`);
  await mkdir(place, { recursive: true });
  for (const file of [program, "package.json", "package-lock.json"])
    await copyFile(from(file), join(place, file));
  const lock = await readFile(from("package-lock.json"), "utf8");
  const stamp = join(place, ".framemill-install");
  if ((await readText(stamp)) !== lock) {
    await npm(`npm could not install the packages of ${name}.`, ["ci", "--prefix", place]);
    await writeFile(stamp, lock);
  }
  return [process.execPath, join(place, program)];
}

async function lockClient(name) {
  const lock = isPython(name) ? lockPythonPackages : lockNodePackages;
  await step(`Looking for the newest ${name}`, () => lock(name));
}

async function lockNodePackages(name) {
  const place = placeOf(name);
  const { dependencies } = JSON.parse(await readFile(join(place, "package.json"), "utf8"));
  const newest = Object.keys(dependencies).map((dependency) => `${dependency}@latest`);
  const how = ["install", "--package-lock-only", "--prefix", place];
  await npm(`npm found no newest ${name}.`, [...how, ...newest]);
}

/**
 * A row a client; one that nobody gave a verdict of is `not tried`.
 * @param {readonly ClientVerdict[]} verdicts @param {readonly string[]} wanted clients that must be there
 */
export function closingTable(verdicts, wanted) {
  const rows = wanted.map((name) => {
    const given = verdicts.find(({ client }) => client === name);
    if (given === undefined) return [name, "", "", "", "NOT TRIED"];
    const { version, checks, seconds, reason } = given;
    const end = reason === "" ? "passed" : `FAILED: ${reason}`;
    return [name, version, String(checks), seconds.toFixed(1), end];
  });
  const isGood = rows.length > 0 && rows.every((row) => row.at(-1) === "passed");
  return {
    table: aligned([["client", "version", "checks", "seconds", "verdict"], ...rows]),
    isGood,
  };
}
