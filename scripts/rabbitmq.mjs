// A private RabbitMQ node: own name, ports, cookie, port mapper and folder; the system's is never touched.
import { openSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { firstByte, freePort, waitUntilReady } from "./ports.mjs";
import { Refusal } from "./steps.mjs";
import { findProgram, isProgram } from "./system-packages.mjs";

const READY_WITHIN_MS = 90_000;
const PROTOCOL_HEADER = Buffer.from("AMQP\0\0\x09\x01", "latin1");
const METHOD_FRAME = 1;

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
 * @param {import("./reaper.mjs").Reaper} reaper
 */
export async function startRabbitmq(reaper) {
  const folder = join(reaper.folder, "rabbitmq");
  const port = await freePort();
  const [apiPort, distPort, mapperPort] = [await freePort(), await freePort(), await freePort()];
  await writeFiles(folder, port, apiPort);
  const environment = nodeEnvironment(folder, { port, distPort, mapperPort });
  const log = openSync(join(folder, "out.log"), "a");
  const stdio = ["ignore", log, log];
  const mapper = reaper.start("epmd", ["-port", String(mapperPort)], {
    env: environment,
    stdio,
  });
  const mapperAnswers = () => isOpen(mapperPort);
  await waitUntilReady(mapper, mapperAnswers, READY_WITHIN_MS);
  // QUIT halts Erlang at once; the node is not needed again.
  const options = { cwd: folder, env: environment, stdio, endsWith: "QUIT" };
  const server = reaper.start(findRabbitmq(), [], options);
  const answers = async () => (await speaksAmqp("127.0.0.1", port)) && (await speaksHttp(apiPort));
  if (!(await waitUntilReady(server, answers, READY_WITHIN_MS)))
    throw new Refusal(`RabbitMQ did not start; its output is in ${join(folder, "out.log")}.`);
  return {
    AMQP_URL: `amqp://guest:guest@127.0.0.1:${port}`,
    RABBITMQ_API_URL: `http://guest:guest@127.0.0.1:${apiPort}/api`,
    RABBITMQCTL: controlCommand(environment),
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

function controlCommand(environment) {
  const names = ["HOME", "ERL_EPMD_PORT", "RABBITMQ_NODENAME", "RABBITMQ_CONF_ENV_FILE"];
  const settings = names.map((name) => `${name}=${environment[name]}`);
  return ["env", ...settings, join(dirname(findRabbitmq()), "rabbitmqctl")].join(" ");
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
