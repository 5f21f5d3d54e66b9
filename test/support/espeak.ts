import { spawnSync } from "node:child_process";
import { describe } from "vitest";

const isThere = spawnSync("espeak-ng", ["--version"], { stdio: "ignore" }).status === 0;
if (!isThere) process.stderr.write("skipped: espeak-ng is not installed\n");

/** `describe` for tests that turn text into phonemes; skipped, aloud, where espeak-ng is absent. */
// oxlint-disable-next-line vitest/valid-title, vitest/valid-describe-callback -- skipIf makes a describe, and is none
export const describeWithEspeak: ReturnType<typeof describe.skipIf> = describe.skipIf(!isThere);
