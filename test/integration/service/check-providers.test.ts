import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const SCRIPT = fileURLToPath(new URL("../../../deploy/images/check-providers.sh", import.meta.url));
const [SHARED, CUDA, TENSORRT] = ["shared", "cuda", "tensorrt"].map(
  (name) => `libonnxruntime_providers_${name}.so`,
) as [string, string, string];

describe("the build of a GPU image", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "check-providers-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  /** Runs the check over these libraries, each with what the loader says of it, in an image that has others. */
  const check = async (
    libraries: Readonly<Record<string, string>>,
    has = "\tlibcudnn.so.9 (libc6,x86-64) => /usr/lib/libcudnn.so.9\n",
  ) => {
    const place = await mkdtemp(join(folder, "image-"));
    for (const [name, says] of Object.entries(libraries)) await writeFile(join(place, name), says);
    // The loader's answers are the files themselves.
    const programs = { ldd: 'cat "$1"', ldconfig: `printf '%s' '${has}'` };
    for (const [name, command] of Object.entries(programs)) {
      await writeFile(join(place, name), `#!/bin/sh\n${command}\n`);
      await chmod(join(place, name), 0o755);
    }
    const env = { PATH: `${place}${delimiter}${process.env["PATH"]}` };
    return await promisify(execFile)("sh", [SCRIPT, place], { env });
  };
  const found = "\tlibcublas.so.12 => /usr/local/cuda/libcublas.so.12 (0x1)\n";
  const driver = "\tlibcuda.so.1 => not found\n";

  test("passes where only the driver is missing, which comes with the GPU", async () => {
    const { stdout } = await check({ [SHARED]: found, [CUDA]: found + driver });
    expect(stdout).toMatch(
      /libonnxruntime_providers_cuda\.so finds every library but the driver's\n$/,
    );
  });

  test("fails where the base image has another CUDA than the provider was made for", async () => {
    const wrong = "\tlibcublasLt.so.13 => not found\n";
    await expect(check({ [SHARED]: found, [CUDA]: found + driver + wrong })).rejects.toThrow(
      /lacks, in this base image:\nlibcublasLt\.so\.13\n/,
    );
  });

  test("fails where the base image lacks cuDNN, of which the loader does not know", async () => {
    await expect(check({ [SHARED]: found, [CUDA]: found + driver }, "")).rejects.toThrow(
      "libcudnn.so.9 is not in this base image",
    );
  });

  test("fails where a provider's library was not installed", async () => {
    await expect(check({ [CUDA]: found })).rejects.toThrow(`${SHARED} is not there`);
    await expect(check({ [SHARED]: found })).rejects.toThrow(`${CUDA} is not there`);
  });

  test("says that TensorRT will not work where only its libraries are missing", async () => {
    const lacking = "\tlibnvinfer.so.10 => not found\n";
    const { stdout } = await check({ [SHARED]: found, [CUDA]: found, [TENSORRT]: lacking });
    expect(stdout).toContain(
      "PROVIDERS=tensorrt will not work in this image; it lacks: libnvinfer",
    );
  });
});
