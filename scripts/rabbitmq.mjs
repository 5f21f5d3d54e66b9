// A private RabbitMQ node: own name, ports, cookie, port mapper and folder; the system's is never touched.
import { existsSync, openSync } from "node:fs";
import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { root } from "./packages.mjs";
import { firstByte, freePort, waitUntilReady } from "./ports.mjs";
import { mustRun } from "./processes.mjs";
import { Refusal, step } from "./steps.mjs";
import { findProgram, isProgram } from "./system-packages.mjs";

const READY_WITHIN_MS = 90_000;
const PROTOCOL_HEADER = Buffer.from("AMQP\0\0\x09\x01", "latin1");
const METHOD_FRAME = 1;

/** Packages that a release of its own is installed and run with. */
export const RELEASE_PACKAGES = ["mmdebstrap", "bubblewrap"];
/** Debian's that has RabbitMQ 4.3: a newer one than this machine's, so it has its own libraries, too. */
const SUITES = { 4.3: "forky" };

/**
 * Where a RabbitMQ lies, and the words before each of its programs.
 * @typedef {{ folder: string, within: readonly string[] }} Installation
 */

/** The installation that RABBITMQ_RELEASE names, or this machine's. @returns {Promise<Installation>} */
export async function chooseRabbitmq() {
  const release = process.env["RABBITMQ_RELEASE"];
  return release ? await installRelease(release) : { folder: dirname(findRabbitmq()), within: [] };
}

/** @param {string} release */
async function installRelease(release) {
  const suite = SUITES[release];
  if (suite === undefined)
    throw new Refusal(`RABBITMQ_RELEASE is ${Object.keys(SUITES).join(" or ")}, not ${release}.`);
  const place = join(root, ".cache", `rabbitmq-${release}`);
  if (!existsSync(place))
    await step(`Unpacking RabbitMQ ${release} of Debian ${suite}`, () => unpack(suite, place));
  const binds = ["--bind", place, "/", "--ro-bind", "/etc", "/etc", "--dev", "/dev"];
  const within = ["bwrap", ...binds, "--proc", "/proc", "--die-with-parent"];
  return { folder: "/usr/lib/rabbitmq/bin", within };
}

/** A Debian without an init: files only, none of its scripts run. */
async function unpack(suite, place) {
  const packages = ["rabbitmq-server", "bash", "coreutils", "gawk", "grep", "hostname", "sed"];
  const begun = `${place}.unfinished`;
  await rm(begun, { recursive: true, force: true });
  await mkdir(dirname(place), { recursive: true });
  await mustRun(`RabbitMQ could not be unpacked.`, "mmdebstrap", [
    "--quiet",
    "--variant=extract",
    // A mirror's list may be older than it promises; its signature and hashes are checked all the same.
    '--aptopt=Acquire::Check-Valid-Until "false"',
    `--include=${packages.join(",")}`,
    suite,
    begun,
  ]);
  await symlink("bash", join(begun, "usr/bin/sh"));
  await symlink("gawk", join(begun, "usr/bin/awk"));
  await rename(begun, place);
}

/** The script that starts the node itself: Debian's in PATH would change user and folder. */
export function findRabbitmq() {
  const places = [
    "/usr/lib/rabbitmq/bin/rabbitmq-server",
    "/opt/homebrew/opt/rabbitmq/sbin/rabbitmq-server",
    "/usr/local/opt/rabbitmq/sbin/rabbitmq-server",
  ];
  return findProgram("epmd") && places.find(isProgram);
}

/**
 * Starts a node and gives its AMQP_URL once it speaks AMQP, in RABBITMQ_API_URL its management API, and
 * in RABBITMQCTL the words of a command that operates it.
 * @param {import("./reaper.mjs").Reaper} reaper @param {Installation} installation
 */
export async function startRabbitmq(reaper, installation) {
  const folder = join(reaper.folder, "rabbitmq");
  const { within, ...places } = installation;
  const sees = within.length > 0 ? ["--bind", folder, folder] : [];
  const wordsOf = (...words) => [...within, ...sees, ...words];
  const port = await freePort();
  const [apiPort, distPort, mapperPort] = [await freePort(), await freePort(), await freePort()];
  await writeFiles(folder, port, apiPort);
  const environment = nodeEnvironment(folder, { port, distPort, mapperPort });
  const log = openSync(join(folder, "out.log"), "a");
  const stdio = ["ignore", log, log];
  const start = ([program, ...args], options) => reaper.start(program, args, options);
  const mapper = start(wordsOf("epmd", "-port", String(mapperPort)), { env: environment, stdio });
  const mapperAnswers = () => isOpen(mapperPort);
  await waitUntilReady(mapper, mapperAnswers, READY_WITHIN_MS);
  // QUIT halts Erlang at once; the node is not needed again.
  const options = { cwd: folder, env: environment, stdio, endsWith: "QUIT" };
  const server = start(wordsOf(join(places.folder, "rabbitmq-server")), options);
  const answers = async () => (await speaksAmqp("127.0.0.1", port)) && (await speaksHttp(apiPort));
  if (!(await waitUntilReady(server, answers, READY_WITHIN_MS)))
    throw new Refusal(`RabbitMQ did not start; its output is in ${join(folder, "out.log")}.`);
  return {
    AMQP_URL: `amqp://guest:guest@127.0.0.1:${port}`,
    RABBITMQ_API_URL: `http://guest:guest@127.0.0.1:${apiPort}/api`,
    RABBITMQCTL: [
      ...wordsOf("env", ...controlSettings(environment)),
      join(places.folder, "rabbitmqctl"),
    ].join(" "),
  };
}

async function writeFiles(folder, port, apiPort) {
  await mkdir(folder, { recursive: true });
  const settings = [
    `listeners.tcp.1 = 127.0.0.1:${port}`,
    "log.file.level = warning",
    "disk_free_limit.absolute = 50MB",
    "raft.wal_max_size_bytes = 67108864",
    "management.tcp.ip = 127.0.0.1",
    `management.tcp.port = ${apiPort}`,
    "management_agent.disable_metrics_collector = true", // virtual hosts are made there, nothing is measured
  ];
  await Promise.all([
    writeFile(join(folder, "rabbitmq.conf"), `${settings.join("\n")}\n`),
    writeFile(join(folder, "enabled_plugins"), "[rabbitmq_management].\n"),
    writeFile(join(folder, "rabbitmq-env.conf"), ""),
  ]);
}

function controlSettings(environment) {
  const names = ["HOME", "ERL_EPMD_PORT", "RABBITMQ_NODENAME", "RABBITMQ_CONF_ENV_FILE"];
  return names.map((name) => `${name}=${environment[name]}`);
}

function nodeEnvironment(folder, { port, distPort, mapperPort }) {
  return {
    PATH: process.env["PATH"],
    LANG: "C.UTF-8",
    HOME: folder, // its Erlang cookie is made here
    ERL_EPMD_PORT: String(mapperPort),
    ERL_EPMD_ADDRESS: "127.0.0.1",
    RUNNING_UNDER_SYSTEMD: "true", // the script becomes the node: one process, signals reach it
    RABBITMQ_NODENAME: `framemill-${process.pid}-${port}@localhost`,
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distPort),
    RABBITMQ_MNESIA_BASE: join(folder, "mnesia"),
    RABBITMQ_LOG_BASE: join(folder, "log"),
    RABBITMQ_CONFIG_FILE: join(folder, "rabbitmq"),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(folder, "advanced"),
    RABBITMQ_CONF_ENV_FILE: join(folder, "rabbitmq-env.conf"),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, "enabled_plugins"),
    RABBITMQ_PID_FILE: join(folder, "pid"),
  };
}

/** @param {string} host @param {number} port */
export async function speaksAmqp(host, port) {
  return (await firstByte({ host, port }, PROTOCOL_HEADER)) === METHOD_FRAME;
}

/** Any answer will do: without a user it is a 401. */
async function speaksHttp(port) {
  const url = `http://127.0.0.1:${port}/api/vhosts`;
  return fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
    () => true,
    () => false,
  );
}

/** The port mapper's own request for names: length 1, NAMES_REQ. Its answer begins with its port. */
async function isOpen(port) {
  return (await firstByte({ host: "127.0.0.1", port }, Buffer.from([0, 1, 110]))) !== undefined;
}
