// The broker and the database of the tests: the ones named, private ones, or containers.
import { pathToFileURL } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { findProgram, installSystemPackages } from "./system-packages.mjs";
import { capture, mustRun } from "./processes.mjs";
import { findPostgres, startPostgres } from "./postgres.mjs";
import {
  chooseRabbitmq,
  findRabbitmq,
  RELEASE_PACKAGES,
  speaksAmqp,
  startRabbitmq,
} from "./rabbitmq.mjs";
import { composeFile, openReaper } from "./reaper.mjs";
import { Refusal, say, step } from "./steps.mjs";

/** @typedef {{ AMQP_URL: string, DATABASE_URL: string, RABBITMQ_API_URL?: string, RABBITMQCTL?: string }} ServiceUrls */

/** Debian packages of the servers that are neither named nor installed. */
export function missingServicePackages() {
  const packages = [];
  const { AMQP_URL, RABBITMQ_RELEASE } = process.env;
  if (!AMQP_URL && RABBITMQ_RELEASE) {
    if (!findProgram("mmdebstrap") || !findProgram("bwrap")) packages.push(...RELEASE_PACKAGES);
  } else if (!AMQP_URL && !findRabbitmq()) packages.push("rabbitmq-server");
  if (!process.env["DATABASE_URL"] && !findPostgres()) packages.push("postgresql");
  return packages;
}

/**
 * Provides both servers for as long as the reaper is open.
 * @param {import("./reaper.mjs").Reaper} reaper @param {boolean} [durable] whether Postgres syncs what it commits
 * @returns {Promise<ServiceUrls>}
 */
export async function startServices(reaper, durable = false) {
  const { AMQP_URL, DATABASE_URL } = process.env;
  if (AMQP_URL && DATABASE_URL) return { AMQP_URL, DATABASE_URL };
  const start = (await installSystemPackages(missingServicePackages()))
    ? startPrivate
    : startContainers;
  return step("Starting RabbitMQ and Postgres", () => start(reaper, durable));
}

async function startPrivate(reaper, durable) {
  const { AMQP_URL, DATABASE_URL } = process.env;
  const started = await Promise.allSettled([
    AMQP_URL ? { AMQP_URL } : chooseRabbitmq().then((found) => startRabbitmq(reaper, found)),
    DATABASE_URL || startPostgres(reaper, durable),
  ]);
  const failed = started.find(({ status }) => status === "rejected");
  if (failed) throw failed.reason;
  return { ...started[0].value, DATABASE_URL: started[1].value };
}

async function startContainers(reaper) {
  if ((await capture("docker", ["info"])).code !== 0)
    throw new Refusal(
      "The tests need RabbitMQ and Postgres: install rabbitmq-server and postgresql, start a docker engine, or set AMQP_URL and DATABASE_URL.",
    );
  const project = `framemill-test-${process.pid}`;
  reaper.ownComposeProject(project);
  const sentence = "docker compose could not start RabbitMQ and Postgres.";
  const ours = ["compose", "-p", project, "-f", composeFile];
  const compose = (...args) => mustRun(sentence, "docker", [...ours, ...args]);
  await compose("up", "--detach", "--wait");
  const amqp = (await compose("port", "rabbitmq", "5672")).trim();
  const api = (await compose("port", "rabbitmq", "15672")).trim();
  const database = (await compose("port", "postgres", "5432")).trim();
  const [host, port] = amqp.split(":");
  while (!(await speaksAmqp(host, Number(port)))) await sleep(200);
  const broker = process.env["AMQP_URL"]
    ? { AMQP_URL: process.env["AMQP_URL"] }
    : {
        AMQP_URL: `amqp://framemill:framemill@${amqp}`,
        RABBITMQ_API_URL: `http://framemill:framemill@${api}/api`,
        RABBITMQCTL: ["docker", ...ours, "exec", "-T", "rabbitmq", "rabbitmqctl"].join(" "),
      };
  return {
    ...broker,
    DATABASE_URL: process.env["DATABASE_URL"] || `postgres://framemill@${database}/framemill`,
  };
}

/** `node scripts/services.mjs`: servers to work with by hand, until Ctrl-C. */
async function runUntilStopped() {
  const reaper = await openReaper();
  const urls = await startServices(reaper);
  for (const [name, value] of Object.entries(urls))
    process.stdout.write(`export ${name}="${value}"\n`);
  say("Ctrl-C ends them.");
  setInterval(() => {}, 60_000); // the end of this process is what the reaper waits for
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await runUntilStopped();
