// Packages, compiled code, ffmpeg and, where they are wanted, servers and programs: side by side.
import { ffmpegIsMissing, findFfmpeg } from "./ffmpeg.mjs";
import { build, installPackages } from "./packages.mjs";
import { missingServicePackages, startServices } from "./services.mjs";
import { findProgram, installSystemPackages } from "./system-packages.mjs";

/**
 * The servers live as long as the reaper.
 * @param {Object} wanted `servers`: RabbitMQ and Postgres, `durable`: with fsync; `programs`: [name, …Debian packages] each
 * @param {import("./reaper.mjs").Reaper} reaper
 * @returns {Promise<[tools: object, urls: object, built: void]>} what to add to the environment
 */
export async function makeReady({ servers, durable = false, programs = [] }, reaper) {
  const packages = programs.flatMap(([name, ...names]) => (findProgram(name) ? [] : names));
  if (servers) packages.push(...missingServicePackages());
  if (ffmpegIsMissing()) packages.push("ffmpeg");
  const installed = installSystemPackages(packages); // one apt-get for all: it locks out a second
  return Promise.all([
    installed.then(findFfmpeg),
    installed.then(() => (servers ? startServices(reaper, durable) : {})),
    installPackages().then(build),
  ]);
}
