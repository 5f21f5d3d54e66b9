import { spawnSync } from "node:child_process";
import { describe } from "vitest";

const hasPip = spawnSync("python3", ["-m", "pip", "--version"], { stdio: "ignore" }).status === 0;
if (!hasPip) process.stderr.write("skipped: no python3 with pip\n");

const cannot = !hasPip && process.env["CI"] === undefined;
/** `describe` for tests that run Python; skipped, aloud, where there is none, but never in CI. */
// oxlint-disable-next-line vitest/valid-title, vitest/valid-describe-callback -- skipIf makes a describe, and is none
export const describeWithPython: ReturnType<typeof describe.skipIf> = describe.skipIf(cannot);
