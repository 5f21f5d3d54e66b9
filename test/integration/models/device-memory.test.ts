import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readDeviceMemory } from "#framemill/runtime/ort/device-memory.js";

const path = process.env["PATH"] ?? "";
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "framemill-smi-"));
  process.env["PATH"] = `${folder}${delimiter}${path}`;
});
afterAll(async () => {
  process.env["PATH"] = path;
  await rm(folder, { recursive: true, force: true });
});

/** A driver's tool in the place where a GPU machine has it. */
async function install(...lines: string[]): Promise<void> {
  const tool = join(folder, "nvidia-smi");
  await writeFile(tool, ["#!/bin/sh", ...lines, ""].join("\n"));
  await chmod(tool, 0o755);
}

test("a GPU's memory is what its driver's tool prints of the first one", async () => {
  await install(
    '[ "$*" = "--query-gpu=memory.used,memory.total --format=csv,noheader,nounits" ] || exit 2',
    "echo '1253, 81559'",
    "echo '7, 24564'",
  );
  const expected = { usedBytes: 1_253 * 2 ** 20, totalBytes: 81_559 * 2 ** 20 };
  expect(await readDeviceMemory(["cuda", "cpu"])).toEqual(expected);
  expect(await readDeviceMemory(["cpu"])).toBeUndefined();
});

test("a GPU that the tool cannot reach has no readings", async () => {
  await install("echo 'No devices were found' >&2", "exit 6");
  expect(await readDeviceMemory(["webgpu", "cpu"])).toBeUndefined();
});
