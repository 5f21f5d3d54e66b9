import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../../..", import.meta.url));

describe("an image, which is without the bench package", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "framemill-image-"));
    for (const part of ["dist", "package.json"])
      await cp(join(root, part), join(folder, part), { recursive: true });
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const framemill = (...words: readonly string[]) =>
    promisify(execFile)(process.execPath, [join(folder, "dist/bin/framemill.js"), ...words]);

  test.each([["bench", "all", "--quick"], ["simulate-scaling"], ["models", "evaluate", "any"]])(
    "says of %s where it runs",
    async (...words) => {
      const stderr = expect.stringMatching(/runs from a checkout/);
      await expect(framemill(...words)).rejects.toMatchObject({ code: 2, stderr });
    },
  );

  test("lists the other commands only", async () => {
    const { stdout } = await framemill("--help");
    expect(stdout).toMatch(/^ {2}doctor /m);
    expect(stdout).not.toMatch(/^ {2}bench/m);
  });
});
