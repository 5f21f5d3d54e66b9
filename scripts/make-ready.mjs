// Packages, compiled code, ffmpeg and, where they are wanted, the servers: side by side.
import { existsSync } from "node:fs";
import { ffmpegIsMissing, findFfmpeg } from "./ffmpeg.mjs";
import { build, installPackages } from "./packages.mjs";
import { missingServicePackages, startServices } from "./services.mjs";
import { findProgram, installSystemPackages } from "./system-packages.mjs";

/** A program that tests call, and the packages that bring it. */
const TEST_PROGRAMS = [
  ["openssl", "openssl"], // certificates of the TLS tests
  ["espeak-ng", "espeak-ng"], // phonemes of the speech tests
  ["pocketsphinx_batch", "pocketsphinx", "pocketsphinx-en-us"], // hears what the starter voice says
  ["curl", "curl"], // examples
  ["jq", "jq"],
  ["pip3", "python3-pip"],
  ["faketime", "faketime"], // clocks of the chaos tests
  ["ip", "iproute2"], // and their hosts
];
const SOFTWARE_VULKAN = "/usr/lib/chromium/vk_swiftshader_icd.json";

/**
 * The servers live as long as the reaper.
 * @returns {Promise<[tools: object, urls: object, built: void]>} what to add to the environment
 */
export async function makeReady(withServices, reaper) {
  const packages = withServices ? [...missingServicePackages(), ...missingTestPackages()] : [];
  if (ffmpegIsMissing()) packages.push("ffmpeg");
  const installed = installSystemPackages(packages); // one apt-get for all: it locks out a second
  return Promise.all([
    installed.then(findFfmpeg),
    installed.then(() => (withServices ? startServices(reaper) : {})),
    installPackages().then(build),
  ]);
}

function missingTestPackages() {
  const packages = TEST_PROGRAMS.flatMap(([program, ...names]) =>
    findProgram(program) ? [] : names,
  );
  if (process.env["CI"] && !existsSync(SOFTWARE_VULKAN)) packages.push("chromium", "libvulkan1"); // WebGPU runs on its Vulkan device
  return packages;
}
